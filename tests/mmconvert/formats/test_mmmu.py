"""MMMU, MMMU-Pro and repackagings of them as parquet."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from mmconvert.core.record import Record
from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Target
from support.datasets_on_disk import make_image
from support.numbered_images import answered, asked


def cell(shade: int) -> dict:
    return {"bytes": make_image(shade), "path": None}


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
    assert [image.bytes for image in record.images] == [make_image(1), make_image(2)]
    assert [image.bytes for image in record.attachments] == [make_image(3)]


def test_a_vision_row_is_its_image_and_the_letters(tmp_path: Path) -> None:
    row = {"id": "test_Math_3", "image": cell(1), "options": "['a', 'b']", "answer": "A", "subject": "Math"}
    record = only(parquet(tmp_path / "test.parquet", **row))
    assert (record.question, record.answer, shown(record)[0]) == (None, "A", "<picture>")


def test_sequences_of_options_and_images_are_read_by_position(tmp_path: Path) -> None:
    row = {"id": "validation_Art_1", "question": "<image 2> or <image 1>?", "options": ["None", "two"], "answer": "B"}
    for name in ("image", "images"):
        record = only(parquet(tmp_path / f"{name}.parquet", **row, **{name: [cell(1), cell(2)]}))
        assert (record.options, record.answer) == (("None", "two"), "B")
        assert [(image.slot, image.bytes) for image in record.images] == [(2, make_image(2)), (1, make_image(1))]
    target = tmp_path / "back.parquet"
    assert write(read(tmp_path / "images.parquet"), Target(target), "mmmu") == []
    assert only(target).options == ("None", "two")


def test_images_that_no_placeholder_names_come_first(tmp_path: Path) -> None:
    row = {"id": "dev_Math_1", "question": "What?", "options": "[]", "answer": "7", "image_1": cell(1)}
    record = only(parquet(tmp_path / "dev.parquet", **row))
    assert (shown(record)[0], len(record.images), record.attachments) == ("<picture>", 1, ())


def written(record: Record, folder: Path) -> tuple[list[tuple[str, bool]], list[Record]]:
    """The fields that are lost, and whether the row with them; and what is read back."""
    losses = write([record], Target(folder / "out.parquet"), "mmmu")
    records = read(folder / "out.parquet", "mmmu")
    back = list(records)
    assert records.rejects == []
    assert all(loss.message.endswith("the row is left out") for loss in losses if loss.left_out)
    return [(loss.field, loss.left_out) for loss in losses], back


@pytest.mark.parametrize(
    ("record", "field"),
    [
        (asked("<image 1>What does <image 2> mean?", 1, shown="<image 1>"), "question"),
        (asked("<image 1>What does <image 3> mean?", 1, 2, shown="<image 1>"), "question"),
        (asked("<image 1><image 2>Tag <image 1>?", 1, 2, shown="<image 1><image 2>"), "question"),
        (asked("See <image 8>", 8), "question"),
        (replace(asked("What?"), question=None), "question"),
        (asked("What?", **answered("A", "red")), "options"),
        (asked("What?", **answered("AB", "red", "blue")), "answer"),
    ],
)
def test_a_row_that_would_be_read_as_another_is_left_out(record: Record, field: str, tmp_path: Path) -> None:
    assert written(record, tmp_path) == ([(field, True)], [])


def test_a_prompt_that_shows_a_part_of_the_images_is_named(tmp_path: Path) -> None:
    lost, (back,) = written(asked("<image 1> or <image 2>?", 1, 2, shown="<image 1>"), tmp_path)
    assert (lost, [image.slot for image in back.images]) == ([("messages", False)], [1, 2])


def test_images_that_options_name_stay_where_they_are(tmp_path: Path) -> None:
    options = answered("B", "<image 3>", "<image 2>")
    record = asked("Which?", 1, 2, 3, shown="<image 3><image 2>", **options)
    lost, (back,) = written(record, tmp_path)
    assert (lost, [image.slot for image in (*back.images, *back.attachments)]) == ([], [3, 2, 1])


def test_a_gap_between_options_is_an_empty_one(tmp_path: Path) -> None:
    lost, (back,) = written(asked("What?", **answered("C", "red", None, "blue")), tmp_path)
    assert (lost, back.options, back.answer) == ([("options", False)], ("red", "", "blue"), "C")


def test_an_answer_that_reads_as_none_is_named(tmp_path: Path) -> None:
    for text in ("", "?"):
        lost, (back,) = written(asked("What?", **answered(text)), tmp_path)
        assert (lost, back.answer) == ([("answer", False)], None)


def test_an_answer_that_the_source_gave_as_text_is_written_as_its_letter(tmp_path: Path) -> None:
    lost, (back,) = written(asked("What?", **{**answered("B", "red", "blue"), "label": '"blue"'}), tmp_path)
    assert (lost, back.answer, back.label) == ([], "B", '"B"')


def test_further_fields_do_not_take_the_place_of_the_formats_own(tmp_path: Path) -> None:
    extra = {"id": "7", "question": "other", "image_1": "x.png", "options": "['a', 'b']", "subfield": "kept"}
    lost, (back,) = written(asked("What?", extra=extra), tmp_path)
    assert [field for field, _ in lost] == ["id", "question", "image_1", "options"]
    assert (back.id, back.question, back.options, back.extra["subfield"]) == ("q", "What?", (), "kept")


def test_records_of_one_question_keep_ids_of_their_own(tmp_path: Path) -> None:
    records = [replace(asked("What?"), id=f"q#{number}", variant=number) for number in (1, 2)]
    losses = write(records, Target(tmp_path / "out.parquet"), "mmmu")
    assert {loss.field for loss in losses} == {"sample", "variant"}
    assert [record.id for record in read(tmp_path / "out.parquet")] == ["q#1", "q#2"]
