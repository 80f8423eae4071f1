"""How records become the row groups of a shard."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mmconvert.core.record import Image, Part, Record, Source, Turn, from_arrow
from mmconvert.dataset import shards
from mmconvert.dataset.shards import RecordWriter


def record(number: int, image: bytes | None = None) -> Record:
    shown = (Image(image, 1, sha256="0"),) if image else ()
    turn = Turn("user", (*(Part("image") for _ in shown), Part("text", f"Question {number}?")))
    return Record(str(number), str(number), (turn,), "vqa", Source("f", "f.jsonl", number), shown)


def written(folder: Path, records: list[Record], together: int = 100) -> pq.ParquetFile:
    writer = RecordWriter(folder, "x")
    for start in range(0, len(records), together):
        writer.write(records[start : start + together])
    [shard] = writer.close()
    file = pq.ParquetFile(folder / shard.file)
    assert shard.rows == file.metadata.num_rows == len(records)
    return file


def group_rows(file: pq.ParquetFile) -> list[int]:
    return [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]


def test_rows_of_text_share_a_row_group_however_many(tmp_path: Path) -> None:
    records = [record(number) for number in range(2 * shards.BATCH_RECORDS + 100)]
    file = written(tmp_path, records)
    assert group_rows(file) == [len(records)]
    assert [found for batch in file.iter_batches() for found in from_arrow(batch)] == records


def test_a_row_group_ends_with_the_batch_that_fills_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "ROW_GROUP_BYTES", 100_000)
    monkeypatch.setattr(shards, "BATCH_RECORDS", 200)
    rows = group_rows(written(tmp_path, [record(number) for number in range(3_000)]))
    assert len(rows) > 2
    assert len({*rows[:-1]}) == 1
    assert rows[0] % 200 == 0
    assert rows[-1] <= rows[0]


def test_images_fill_a_row_group_before_many_records_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "ROW_GROUP_BYTES", 100_000)
    records = [record(number, bytes([number]) * 30_000) for number in range(10)]
    file = written(tmp_path, records, together=1)
    assert group_rows(file) == [4, 4, 2]
    assert [found for batch in file.iter_batches() for found in from_arrow(batch)] == records
