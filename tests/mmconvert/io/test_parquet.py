"""Parquet files that claim what they are not."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmconvert.core.errors import Error
from mmconvert.dataset.dataset import open_dataset
from mmconvert.io import parquet


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


def test_a_value_that_python_cannot_hold_refuses_its_row_only(tmp_path: Path) -> None:
    path = tmp_path / "dates.parquet"
    days = pa.array([1, 2**31 - 1, 2], pa.int32()).view(pa.date32())
    pq.write_table(pa.table({"id": ["a", "b", "c"], "day": days}), path)
    first, second, third = parquet.rows(path)
    assert (first.fields["id"], second.code, second.where.row, third.fields["id"]) == ("a", "value.range", 1, "c")


def test_names_that_are_no_text_refuse_the_file(tmp_path: Path) -> None:
    path = tmp_path / "names.parquet"
    pq.write_table(pa.table({"name": ["a"]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"name", b"n\xd0m\xd0"))
    with pytest.raises(Error, match="damaged"):
        list(parquet.rows(path))
