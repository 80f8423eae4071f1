"""Headers of strangers: their cost grows with the number of columns, which has a cap."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmconvert.core.errors import Error
from mmconvert.io import parquet, tables


def write_table(path: Path, names: list[str]) -> None:
    path.write_text("\t".join(names) + "\n" + "\t".join(names) + "\n")


def write_parquet(path: Path, names: list[str]) -> None:
    pq.write_table(pa.table([pa.array(["x"])] * len(names), names), path)


@pytest.mark.parametrize(
    ("name", "write", "read"),
    [("t.tsv", write_table, tables.read_header), ("t.parquet", write_parquet, parquet.open_parquet)],
)
def test_many_columns_are_read_or_refused_at_once(
    tmp_path: Path, name: str, write: Callable[[Path, list[str]], None], read: Callable[[Path], object]
) -> None:
    path = tmp_path / name
    write(path, [f"c{number}" for number in range(10_000)])
    read(path)
    write(path, [f"c{number}" for number in range(10_001)])
    with pytest.raises(Error, match=r"10,001 columns, more than 10,000\. Leave out"):
        read(path)
    write(path, [*(f"c{number}" for number in range(9_000)), "c5"])
    with pytest.raises(Error, match="column 'c5' appears twice"):
        read(path)


@pytest.mark.slow
def test_a_million_columns_are_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    write_table(path, [f"c{number}" for number in range(1_000_000)])
    with pytest.raises(Error, match="more than 10,000 columns"):
        next(iter(tables.rows(path)))
