"""Footers that pyarrow must not be asked about, because it ends the process."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmconvert.core.errors import Error
from mmconvert.io import parquet
from mmconvert.io.detect import guess
from mmconvert.io.parquet_footer import build_footer_file, find_bad_footer, read_footer
from support.encrypted import write_encrypted

OPTIONAL, REQUIRED = b"\x25\x02\x18\x01a", b"\x25\x00\x18\x01a"
"""A column of the schema that is called a: how often it stands in a row, and its name."""
TWO_COLUMNS = pa.table({"a": ["x", None], "b": ["y", "z"]})
ENCRYPTION = b"\x0c\x10\x00"
"""The eighth field of a footer, an empty struct."""


def _footer(path: Path) -> bytes:
    with path.open("rb", 0) as file:
        footer = read_footer(file)  # type: ignore[arg-type]  # a raw file is read as a buffered one is
    assert footer is not None
    return footer


def _write_with(path: Path, footer: bytes) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: -len(_footer(path)) - 8] + build_footer_file(footer)[4:])


def test_statistics_that_do_not_fit_a_column_refuse_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": ["x", None]}), path)
    data = path.read_bytes()
    assert data.count(OPTIONAL) == 1
    assert list(parquet.read_batches(path))
    path.write_bytes(data.replace(OPTIONAL, REQUIRED))
    with pytest.raises(Error, match=r"t\.parquet: is a damaged parquet file \(its statistics of sizes"):
        list(parquet.rows(path))


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("version", ["1.0", "2.6"])
def test_whole_files_have_no_fault(statistics: bool, version: str, tmp_path: Path) -> None:
    table = pa.table(
        {
            "text": ["x", None] * 50,
            "long" * 40: [[{"a": 1, "b": ["y", None]}], []] * 50,
            "flag": [True, None] * 50,
            "bytes": pa.array([b"z", None] * 50, pa.binary()),
        }
    )
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, row_group_size=10, version=version, write_statistics=statistics)
    assert find_bad_footer(_footer(path), pq.ParquetFile(path).schema) is None


def test_an_encrypted_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_encrypted(path, TWO_COLUMNS, plain_footer=True)
    for columns in (None, ["b"]):
        with pytest.raises(Error, match=r"t\.parquet: is encrypted and is not read\. Write it again without"):
            list(parquet.read_batches(path, columns))
    with pytest.raises(Error, match=r"t\.parquet: is encrypted"):
        guess(path)


def test_a_file_whose_footer_is_encrypted_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_encrypted(path, TWO_COLUMNS, plain_footer=False)
    with pytest.raises(Error, match=r"t\.parquet: is not a parquet file; its first bytes are b'PARE'"):
        list(parquet.read_batches(path))
    path.write_bytes(b"PAR1" + path.read_bytes()[4:])
    with pytest.raises(Error, match=r"t\.parquet: is a damaged parquet file"):
        list(parquet.read_batches(path))


def test_a_footer_that_says_how_the_file_is_encrypted_refuses_it(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": ["x", None]}), path)
    footer = _footer(path)
    assert footer.endswith(b"\0")
    _write_with(path, footer[:-1] + ENCRYPTION + b"\0")
    with pytest.raises(Error, match=r"t\.parquet: is encrypted"):
        list(parquet.rows(path))


def test_a_footer_that_can_be_read_in_two_ways_refuses_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": ["x", None]}), path)
    footer = _footer(path)
    # A list of empty structs that calls them truth values: what is behind it is elsewhere for who believes it.
    hidden = b"\x09\x0e" + b"\x21" + b"\0\0"
    for more in (b"\x06\x06\x04", hidden, b"\x08\x10\x00"):
        _write_with(path, footer[:-1] + more + b"\0")
        with pytest.raises(Error, match=r"t\.parquet: is a damaged parquet file"):
            list(parquet.rows(path))


def test_a_footer_of_any_length_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    for columns in (1, 3000):
        pq.write_table(pa.table({f"column {number}": ["x"] for number in range(columns)}), path)
        data = path.read_bytes()
        assert _footer(path) == data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
        assert next(parquet.read_batches(path)).num_columns == columns


@pytest.mark.parametrize("end", [b"", b"PAR1", b"\xff\xff\xff\x7fPAR1", b"\0\0\0\0PAR2"])
def test_a_file_that_ends_otherwise_has_no_footer(end: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1" + end)
    with path.open("rb") as file:
        assert read_footer(file) is None
    with pytest.raises(Error, match=r"t\.parquet: is a damaged parquet file"):
        list(parquet.rows(path))
