"""Parquet files that claim what they are not."""

import datetime
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmconvert.core.errors import Error
from mmconvert.core.rows import Row
from mmconvert.dataset.dataset import open_dataset
from mmconvert.io import parquet
from mmconvert.storage.source_files import Sources, get_sources, watch_apart


def test_a_column_that_stands_twice_refuses_the_file(tmp_path: Path) -> None:
    path = tmp_path / "twice.parquet"
    table = pa.table({"id": ["1"], "answer": ["a"]})
    pq.write_table(table.append_column("answer", pa.array(["b"])), path)
    with pytest.raises(Error, match="'answer' appears twice"):
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


DAY = pa.array([1, 2**31 - 1], pa.int32()).view(pa.date32())
OUT_OF_RANGE = "<value out of range: 2147483647>"
STRANGE = {
    "a date behind the year 9999": (DAY, [datetime.date(1970, 1, 2), OUT_OF_RANGE]),
    "such a date in a list": (pa.array([[1], [2**31 - 1]], pa.list_(pa.int32())).view(pa.list_(pa.date32())), None),
    "such a date among categories": (DAY.dictionary_encode(), [datetime.date(1970, 1, 2), OUT_OF_RANGE]),
    "a zone that nobody knows": (
        pa.array([0, 1_000_000], pa.timestamp("us", tz="Mars/Phobos")),
        [datetime.datetime(1970, 1, 1), datetime.datetime(1970, 1, 1, 0, 0, 1)],
    ),
    "a duration of all time": (pa.array([0, 2**62], pa.duration("s")), [datetime.timedelta(0), 2**62]),
}


@pytest.mark.parametrize("name", STRANGE)
def test_a_value_that_python_cannot_hold_is_what_arrow_makes_of_it(name: str, tmp_path: Path) -> None:
    path = tmp_path / "strange.parquet"
    column, wanted = STRANGE[name]
    pq.write_table(pa.table({"id": ["a", "b"], "column": column}), path)
    found = list(parquet.rows(path))
    assert [(type(row), row.where.row, row.fields["id"]) for row in found] == [(Row, 0, "a"), (Row, 1, "b")]
    if wanted is not None:
        assert [row.fields["column"] for row in found] == wanted


def test_a_text_that_is_not_utf8_refuses_its_row_and_names_its_column(tmp_path: Path) -> None:
    path = tmp_path / "bytes.parquet"
    texts = pa.array([b"a", b"\xff", b"c"]).view(pa.string())
    pq.write_table(pa.table({"id": ["a", "b", "c"], "text": texts}), path)
    first, second, third = parquet.rows(path)
    assert (first.fields, third.fields) == ({"id": "a", "text": "a"}, {"id": "c", "text": "c"})
    assert (second.code, second.field, second.where.row) == ("text.encoding", "text", 1)
    assert second.row.fields == {"id": "b", "text": None}


def test_names_that_are_no_text_refuse_the_file(tmp_path: Path) -> None:
    path = tmp_path / "names.parquet"
    pq.write_table(pa.table({"name": ["a"]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"name", b"n\xd0m\xd0"))
    with pytest.raises(Error, match="damaged"):
        list(parquet.rows(path))


def test_the_next_batches_are_read_beside_the_one_that_is_used_but_not_beside_the_first_or_large_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parquet, "_AHEAD_FROM", 2)
    read: list[int] = []
    watched: list[Sources | None] = []

    def give() -> Iterator[tuple[pa.RecordBatch, int]]:
        for number, size in enumerate([1, 1, *[parquet._AHEAD_BYTES + 1] * parquet._AHEAD, 1]):
            read.append(number)
            watched.append(get_sources())
            yield pa.record_batch({"n": [number]}), size

    with watch_apart(Sources()) as sources:
        batches = parquet._read_ahead(give())
        next(batches)
        assert read == [0]
        next(batches)
        for _ in range(parquet._AHEAD):
            next(batches)
        assert read == [0, 1, 2, 3]
        assert [batch["n"].to_pylist() for batch, _ in batches] == [[4]]
    assert watched == [sources] * 5


def test_damage_that_a_thread_finds_is_told_at_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_AHEAD_FROM", 2)
    path = tmp_path / "a.parquet"
    table = pa.table({"text": [f"{n:09d}" for n in range(parquet.BATCH_ROWS * 4)]})
    pq.write_table(table, path, row_group_size=parquet.BATCH_ROWS, write_page_checksum=True, compression="none")
    assert len(list(parquet.rows(path))) == len(table)
    damaged = path.read_bytes().replace(f"{parquet.BATCH_ROWS * 2 + 5:09d}".encode(), b"x" * 9, 1)
    path.write_bytes(damaged)
    before = threading.active_count()
    with pytest.raises(Error, match=f"near row {parquet.BATCH_ROWS * 2} "):
        list(parquet.rows(path))
    assert threading.active_count() == before


LISTS = {
    "lists": pa.array([[1, 2], None, [], [3]], pa.list_(pa.int64())),
    "long lists": pa.array([["a"], ["b", "c"]], pa.large_list(pa.string())),
    "no lists": pa.array([], pa.list_(pa.string())),
    "lists of objects": pa.array([[{"a": "x"}, None], [{"a": "y"}]]),
    "objects": pa.array([{"a": [1, 2]}, None, {"a": None}]),
    "lists of a size": pa.array([[1, 2], [3, 4]], pa.list_(pa.int64(), 2)),
}


@pytest.mark.parametrize("name", LISTS)
def test_the_leaves_of_an_array_are_its_values_wherever_it_is_cut(name: str) -> None:
    def read(array: pa.Array) -> list[object]:
        return [value for leaf in parquet.list_leaves(array) if leaf.type != pa.null() for value in leaf.to_pylist()]

    array = LISTS[name]
    whole = read(array)
    for cut in range(len(array)):
        assert read(array.slice(0, cut)) + read(array.slice(cut)) == whole
    assert len(whole) == {"lists": 3, "long lists": 3, "no lists": 0, "lists of objects": 3, "objects": 2}.get(name, 4)
