"""Parquet files that claim what they are not."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmconvert.errors import Error
from mmconvert.sources import parquet
from mmconvert.store import open_dataset


def test_a_column_that_stands_twice_refuses_the_file(tmp_path: Path) -> None:
    path = tmp_path / "twice.parquet"
    table = pa.table({"id": ["1"], "answer": ["a"]})
    pq.write_table(table.append_column("answer", pa.array(["b"])), path)
    with pytest.raises(Error, match="'answer' stands twice"):
        list(parquet.rows(path))


@pytest.mark.parametrize("read", ["rows", "dataset"])
def test_a_file_is_read_a_row_group_at_a_time(read: str, tmp_path: Path) -> None:
    path = tmp_path / "pictures.parquet"
    group = pa.table({"id": ["x"] * 256, "picture": [bytes(1 << 13)] * 256})
    with pq.ParquetWriter(path, group.schema, compression="none", use_dictionary=False) as writer:
        for _ in range(16):
            writer.write_table(group)
    before, most = pa.total_allocated_bytes(), 0
    for _ in parquet.rows(path) if read == "rows" else open_dataset(path).batches():
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < path.stat().st_size / 2
