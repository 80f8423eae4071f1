"""FineVision's parquet and its ratings."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from msgspec.structs import replace

from mmconvert.core.record import Record
from mmconvert.formats.finevision import RATINGS, SCHEMA, SMALLEST
from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Target
from support.dialogs import content, dialogs, there_and_back
from support.records import image_bytes

RATED = {
    "images": [{"bytes": image_bytes("JPEG"), "path": None}],
    "texts": [{"user": "Q", "assistant": "A"}, {"user": "R", "assistant": "B"}],
    "source": "coco",
    **{name: [5, None] for name in RATINGS},
    **dict.fromkeys(SMALLEST, 5),
}


def rows(folder: Path, *data: dict) -> Path:
    pq.write_table(pa.Table.from_pylist([*data], schema=SCHEMA), folder / "in.parquet")
    return folder / "in.parquet"


@given(dialogs(shown_by=("user",), front_only=True, system=False, fields=False, message_fields=False, named=False))
def test_dialogs_come_back(record: Record) -> None:
    back, losses = there_and_back(record, "finevision", "t.parquet")
    assert losses == []
    assert content(back) == content(record)


def test_ratings_come_back(tmp_path: Path) -> None:
    file = rows(tmp_path, RATED)
    assert write(read(file, "finevision"), Target(tmp_path / "out.parquet"), "finevision") == []
    assert pq.read_table(tmp_path / "out.parquet").to_pylist() == [RATED]


def test_a_rating_for_each_text_or_none(tmp_path: Path) -> None:
    records = read(rows(tmp_path, {**RATED, RATINGS[0]: [5]}, {**RATED, RATINGS[0]: None}), "finevision")
    assert len(list(records)) == 1
    (reject,) = records.rejects
    assert (reject.code, reject.field) == ("ratings.count", RATINGS[0])
    assert "1 ratings for 2 texts" in reject.message


def test_ratings_of_other_texts_are_told_as_lost(tmp_path: Path) -> None:
    (record,) = read(rows(tmp_path, RATED), "finevision")
    losses = write([replace(record, messages=record.messages[:2])], Target(tmp_path / "t.parquet"), "finevision")
    assert {loss.field for loss in losses} == set(RATINGS)
    (row,) = pq.read_table(tmp_path / "t.parquet").to_pylist()
    assert row["texts"] == RATED["texts"][:1]
    assert row[RATINGS[0]] is None
