"""A full disk reaches whoever writes parquet as an error, and leaves the process alive."""

import os
import subprocess
import sys
import textwrap
from base64 import b64encode
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmconvert.dataset.shards import parquet_options
from mmconvert.storage.output_file import OutputFile
from support.records import picture_bytes

SCHEMA = pa.schema([("text", pa.string())])


def test_what_is_written_is_the_file(tmp_path: Path) -> None:
    with OutputFile(tmp_path / "p.parquet") as file:
        with pq.ParquetWriter(file, SCHEMA, **parquet_options(SCHEMA)) as writer:
            writer.write_table(pa.table({"text": [os.urandom(1000).hex() for _ in range(2000)]}, SCHEMA))
        file.check()
    assert pq.read_table(tmp_path / "p.parquet").num_rows == 2000
    assert file.closed


def test_a_place_that_is_none_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        OutputFile(tmp_path / "no" / "p.parquet")


def test_the_first_error_is_kept_and_the_process_lives(tmp_path: Path) -> None:
    code = """
        import os, pathlib, resource, sys
        import pyarrow as pa, pyarrow.parquet as pq
        from mmconvert.storage.output_file import OutputFile
        from mmconvert.dataset.shards import parquet_options
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        schema = pa.schema([("text", pa.string())])
        file = OutputFile(pathlib.Path(sys.argv[1]))
        writer = pq.ParquetWriter(file, schema, **parquet_options(schema))
        writer.write_table(pa.table({"text": [os.urandom(1000).hex() for _ in range(4000)]}, schema))
        writer.close()
        file.close()
        try:
            file.check()
        except OSError as error:
            print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "p.parquet")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "File too large" in done.stdout
    assert (tmp_path / "p.parquet").stat().st_size == 1 << 20


def test_a_conversion_of_long_texts_ends_in_words_where_a_file_may_not_grow(tmp_path: Path) -> None:
    shown = b64encode(picture_bytes("PNG")).decode()
    rows = "".join(f"{i}\t{shown}\t{os.urandom(10_000).hex()}\ta\n" for i in range(100))
    (tmp_path / "t.tsv").write_text("index\timage\tquestion\tanswer\n" + rows)
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18))\n"
        "from mmconvert.cli import main; main()"
    )
    words = ["convert", "t.tsv", "-o", "o", "--format", "lmudata", "--quiet", "--workers", "1"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "mmconvert: o: File too large. Nothing was published.\n")
    assert [file.name for file in tmp_path.iterdir()] == ["t.tsv"]
