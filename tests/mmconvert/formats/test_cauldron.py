"""The Cauldron's parquet."""

from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from mmconvert.core.record import Part, Record, Source, Turn
from mmconvert.formats.cauldron import SCHEMA
from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Target
from support.dialogs import content, dialogs, there_and_back
from support.records import checked, image_bytes

CELL = {"bytes": image_bytes("PNG"), "path": None}


@given(dialogs(shown_by=("user",), front_only=True, system=False, fields=False, message_fields=False, named=False))
def test_dialogs_come_back(record: Record) -> None:
    back, losses = there_and_back(record, "cauldron", "t.parquet")
    assert losses == []
    assert content(back) == content(record)


def test_sources_come_back_and_the_file_opens(tmp_path: Path) -> None:
    texts = [{"user": "Q", "assistant": "A", "source": "vqav2"}, {"user": "", "assistant": "", "source": None}]
    pq.write_table(pa.Table.from_pylist([{"images": [CELL], "texts": texts}], schema=SCHEMA), tmp_path / "in.parquet")
    (record,) = read(tmp_path / "in.parquet", "cauldron")
    assert record.messages[0].content == (Part("image"), Part("text", "Q"))
    assert write([record], Target(tmp_path / "out.parquet"), "cauldron") == []
    assert pq.read_table(tmp_path / "out.parquet").to_pylist() == pq.read_table(tmp_path / "in.parquet").to_pylist()
    loaded = datasets.load_dataset("parquet", data_files=str(tmp_path / "out.parquet"), split="train")
    assert loaded[0]["images"][0].size == (3, 2)


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({"images": [CELL], "texts": []}, "messages.missing"),
        ({"images": [CELL], "texts": [{"user": "Q"}]}, "messages.content"),
        (
            {"images": [{"bytes": b"GIF89a", "path": None}], "texts": [{"user": "Q", "assistant": "A"}]},
            "image.truncated",
        ),
        ({"images": [None], "texts": [{"user": "Q", "assistant": "A"}]}, "image.type"),
    ],
)
def test_a_bad_row_is_refused(row: dict, code: str, tmp_path: Path) -> None:
    good = {"images": [], "texts": [{"user": "Q", "assistant": "A", "source": "s"}]}
    pq.write_table(pa.Table.from_pylist([row, good], schema=SCHEMA), tmp_path / "in.parquet")
    records = read(tmp_path / "in.parquet", "cauldron")
    assert len(list(records)) == 1
    assert records.rejects[0].code == code


def test_places_names_and_system_turns_are_told_as_lost(tmp_path: Path) -> None:
    turns = (
        Turn("system", (Part("text", "Be short."),)),
        Turn("user", (Part("text", "Is "), Part("image"), Part("text", " an <image>?"))),
        Turn("assistant", (Part("text", "Yes."),)),
    )
    record = Record("x", "x", turns, "chat", Source("f", "f", 0), images=(checked("PNG", 0, 1),), extra={"note": 1})
    losses = write([record], Target(tmp_path / "t.parquet"), "cauldron")
    assert {loss.field for loss in losses} == {"messages", "images", "id", "note"}
    (row,) = pq.read_table(tmp_path / "t.parquet").to_pylist()
    assert row["texts"] == [{"user": r"Is  an <\image>?", "assistant": "Yes.", "source": None}]
    (back,) = read(tmp_path / "t.parquet", "cauldron")
    assert back.messages[0].content == (Part("image"), Part("text", "Is  an <image>?"))
