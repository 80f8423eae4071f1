"""MMMU, MMMU-Pro and repackagings of them as parquet."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mmconvert.conversion import read, write
from mmconvert.format import Target
from mmconvert.record import Record
from support.datasets_on_disk import picture


def cell(shade: int) -> dict:
    return {"bytes": picture(shade), "path": None}


def parquet(path: Path, **row: Any) -> Path:
    pq.write_table(pa.Table.from_pylist([row]), path)
    return path


def only(path: Path) -> Record:
    records = read(path)
    (record,) = records
    assert (records.format, records.rejects) == ("mmmu", [])
    return record


def shown(record: Record) -> list[str]:
    return [part.text if part.type == "text" else "<picture>" for part in record.messages[0].content]


def test_a_standard_row_of_mmmu_pro_has_ten_options_and_its_subject(tmp_path: Path) -> None:
    options = [f"option {n}" for n in range(9)] + ["<image 2>"]
    record = only(
        parquet(
            tmp_path / "test.parquet", id="test_Art_Theory_1", question="See <image 1>", answer="J",
            options=str(options), subject="Art_Theory",
            image_1=cell(1), image_2=cell(2), image_3=cell(3), topic_difficulty="Easy",
        )
    )  # fmt: skip
    assert (record.options, record.answer, record.category) == (tuple(options), "J", "Art_Theory")
    assert record.l2_category == "Art and Design"
    assert shown(record)[:2] == ["See ", "<picture>"]
    assert [image.bytes for image in record.images] == [picture(1), picture(2)]
    assert [image.bytes for image in record.attachments] == [picture(3)]


def test_a_vision_row_is_its_picture_and_the_letters(tmp_path: Path) -> None:
    row = {"id": "test_Math_3", "image": cell(1), "options": "['a', 'b']", "answer": "A", "subject": "Math"}
    record = only(parquet(tmp_path / "test.parquet", **row))
    assert (record.question, record.answer, shown(record)[0]) == (None, "A", "<picture>")


def test_sequences_of_options_and_pictures_are_read_by_position(tmp_path: Path) -> None:
    row = {"id": "validation_Art_1", "question": "<image 2> or <image 1>?", "options": ["None", "two"], "answer": "B"}
    for name in ("image", "images"):
        record = only(parquet(tmp_path / f"{name}.parquet", **row, **{name: [cell(1), cell(2)]}))
        assert (record.options, record.answer) == (("None", "two"), "B")
        assert [(image.slot, image.bytes) for image in record.images] == [(2, picture(2)), (1, picture(1))]
    target = tmp_path / "back.parquet"
    assert write(read(tmp_path / "images.parquet"), Target(target), "mmmu") == []
    assert only(target).options == ("None", "two")


def test_pictures_that_no_placeholder_names_come_first(tmp_path: Path) -> None:
    row = {"id": "dev_Math_1", "question": "What?", "options": "[]", "answer": "7", "image_1": cell(1)}
    record = only(parquet(tmp_path / "dev.parquet", **row))
    assert (shown(record)[0], len(record.images), record.attachments) == ("<picture>", 1, ())
