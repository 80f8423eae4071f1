"""Parquet files that claim what they are not."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmconvert.errors import Error
from mmconvert.sources import parquet


def test_a_column_that_stands_twice_refuses_the_file(tmp_path: Path) -> None:
    path = tmp_path / "twice.parquet"
    table = pa.table({"id": ["1"], "answer": ["a"]})
    pq.write_table(table.append_column("answer", pa.array(["b"])), path)
    with pytest.raises(Error, match="'answer' stands twice"):
        list(parquet.rows(path))
