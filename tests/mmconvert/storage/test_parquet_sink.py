"""A file that is written has the digest of its bytes; a full disk is an error that leaves the process alive."""

import hashlib
import os
import resource
import signal
import subprocess
import sys
import textwrap
from base64 import b64encode
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core import buffers
from mmconvert.dataset.shards import list_parquet_options
from mmconvert.storage import parquet_sink
from mmconvert.storage.parquet_sink import HashedFile, OutputFile
from support.records import image_bytes

PAGE = os.sysconf("SC_PAGE_SIZE")
SCHEMA = pa.schema([("text", pa.string())])


def written(path: Path, pieces: list[bytes], every: int = 1) -> str:
    file = HashedFile(path)
    for number, piece in enumerate(pieces):
        file.stream.write(piece)
        if number % every == 0:
            file.sync_later()
    file.finish()
    digest = file.digest
    assert file.closed
    return digest


@given(
    pieces=st.lists(st.integers(0, 3 * PAGE).map(lambda size: os.urandom(size)), max_size=8),
    every=st.integers(1, 3),
    direct=st.booleans(),
)
def test_the_digest_is_that_of_the_file(
    pieces: list[bytes], every: int, direct: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("d") / "f"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_sink, "_GATHERED", 100)
        patch.setattr(parquet_sink, "_BLOCK", PAGE)
        if not direct:
            patch.setattr(parquet_sink, "_DIRECT", 0)
        digest = written(path, pieces, every)
    assert path.read_bytes() == b"".join(pieces)
    assert digest == hashlib.sha256(b"".join(pieces)).hexdigest()


def test_a_file_system_that_refuses_direct_writes_only_when_they_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A block that does not begin with a page is what the kernel refuses then.
    monkeypatch.setattr(parquet_sink, "take", lambda size: pa.py_buffer(memoryview(bytearray(size + 1))[1:]))
    data = os.urandom(5 << 20)
    assert written(tmp_path / "f", [data]) == hashlib.sha256(data).hexdigest()
    assert (tmp_path / "f").read_bytes() == data


def test_files_one_after_the_other_take_the_same_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "_idle", {})
    first, second = os.urandom(9 << 20), os.urandom(9 << 20)
    assert written(tmp_path / "a", [first]) == hashlib.sha256(first).hexdigest()
    blocks = {id(block) for block in buffers._idle[2 << 20]}
    assert written(tmp_path / "b", [second]) == hashlib.sha256(second).hexdigest()
    assert {id(block) for block in buffers._idle[2 << 20]} == blocks
    assert len(blocks) == 3
    assert (tmp_path / "a").read_bytes() + (tmp_path / "b").read_bytes() == first + second


@pytest.mark.skipif(sys.platform != "linux", reason="page caches are asked for on Linux only")
def test_a_large_file_does_not_fill_the_page_cache(tmp_path: Path) -> None:
    with (tmp_path / "probe").open("wb") as probe:
        direct = parquet_sink.set_direct(probe.fileno(), on=True)
    if not direct:
        pytest.skip("the file system of the tests cannot write directly")
    written(tmp_path / "f", [bytes(64 << 20)])
    with (tmp_path / "f").open("rb") as file:
        cached = pages_in_memory(file.fileno(), 64 << 20)
    assert cached * PAGE < 4 << 20


def pages_in_memory(handle: int, size: int) -> int:
    import ctypes
    import mmap

    mapped = mmap.mmap(handle, size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    place = ctypes.addressof(ctypes.c_char.from_buffer(mapped))
    told = (ctypes.c_ubyte * (size // PAGE))()
    assert ctypes.CDLL(None).mincore(ctypes.c_void_p(place), ctypes.c_size_t(size), told) == 0
    return sum(page & 1 for page in told)


def test_what_a_write_met_is_raised_and_not_hashed_away(tmp_path: Path) -> None:
    code = """
import pathlib, sys
from mmconvert.storage.parquet_sink import HashedFile
file = HashedFile(pathlib.Path(sys.argv[1]))
file.stream.write(bytes(3_000_000))
try:
    file.finish()
except OSError as error:
    print(error.errno)
try:
    file.sync_later()
except OSError as error:
    print(error.errno)
"""

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, 1_500_000))

    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", code, str(tmp_path / "f")]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limited, env=environment)
    assert done.stdout.split() == ["27", "27"], done.stderr


def test_what_is_written_is_the_file(tmp_path: Path) -> None:
    with OutputFile(tmp_path / "p.parquet") as file:
        with pq.ParquetWriter(file, SCHEMA, **list_parquet_options(SCHEMA)) as writer:
            writer.write_table(pa.table({"text": [os.urandom(1000).hex() for _ in range(2000)]}, SCHEMA))
        file.check()
    assert pq.read_table(tmp_path / "p.parquet").num_rows == 2000
    assert file.closed


def test_a_place_that_is_none_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        OutputFile(tmp_path / "no" / "p.parquet")


@pytest.mark.slow
def test_the_first_error_is_kept_and_the_process_lives(tmp_path: Path) -> None:
    code = """
        import os, pathlib, resource, sys
        import pyarrow as pa, pyarrow.parquet as pq
        from mmconvert.storage.parquet_sink import OutputFile
        from mmconvert.dataset.shards import list_parquet_options
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        schema = pa.schema([("text", pa.string())])
        file = OutputFile(pathlib.Path(sys.argv[1]))
        writer = pq.ParquetWriter(file, schema, **list_parquet_options(schema))
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


@pytest.mark.slow
def test_a_conversion_of_long_texts_ends_in_words_where_a_file_may_not_grow(tmp_path: Path) -> None:
    shown = b64encode(image_bytes("PNG")).decode()
    rows = "".join(f"{i}\t{shown}\t{os.urandom(10_000).hex()}\ta\n" for i in range(100))
    (tmp_path / "t.tsv").write_text("index\timage\tquestion\tanswer\n" + rows)
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18))\n"
        "from mmconvert.cli import main; main()"
    )
    words = ["convert", "t.tsv", "-o", "o", "--format", "lmudata", "--quiet", "--workers", "1"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        1,
        "mmconvert: o: File too large. Nothing was written. Free space there, or name another place.\n",
    )
    assert [file.name for file in tmp_path.iterdir()] == ["t.tsv"]
