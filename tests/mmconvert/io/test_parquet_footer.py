"""Footers that pyarrow must not be asked about, because it ends the process."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmconvert.core.errors import Error
from mmconvert.io import parquet
from mmconvert.io.parquet_footer import find_bad_chunk

OPTIONAL, REQUIRED = b"\x25\x02\x18\x01a", b"\x25\x00\x18\x01a"
"""A column of the schema that is called a: how often it stands in a row, and its name."""


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
    assert find_bad_chunk(pq.ParquetFile(path)) is None
