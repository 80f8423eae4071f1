"""Benchmarks as lmms-lab and others hold them on the Hub."""

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmconvert.core.record import Record
from mmconvert.formats.hub_vqa import FORMAT
from mmconvert.io.detect import sample
from mmconvert.pipeline.convert import read
from support.datasets_on_disk import make_image


def cell(shade: int = 1) -> dict:
    return {"bytes": make_image(shade), "path": f"{shade}.png"}


def parquet(path: Path, *rows: dict) -> Path:
    pq.write_table(pa.Table.from_pylist(list(rows)), path)
    return path


def only(tmp_path: Path, **row: Any) -> Record:
    records = read(parquet(tmp_path / "test-00000-of-00001.parquet", {"image": cell(), **row}))
    (record,) = records
    assert (records.format, records.rejects) == ("hub_vqa", [])
    return record


VQA_ANSWERS = [{"answer": "cat", "answer_confidence": "yes", "answer_id": n} for n in (1, 2)]

LAYOUTS: dict[str, tuple[dict, dict]] = {
    "MMBench": (
        {"index": 7, "question": "Which?", "hint": "nan", "A": "red", "B": "None", "C": "nan", "D": "nan",
         "answer": "B", "category": "c", "L2-category": "CP", "source": "web", "comment": "nan", "split": "dev"},
        {"id": "7", "task": "multiple_choice", "options": ("red", "None"), "answer": "B", "hint": None,
         "l2_category": "CP", "split": "dev", "extra": {"source": "web", "nan": ["hint", "C", "D", "comment"]}},
    ),
    "MMBench's test split": (
        {"index": "00012", "question": "Which?", "hint": "Look.", "A": "red", "B": "blue", "answer": "nan"},
        {"id": "00012", "answer": None, "label": None, "hint": "Look.", "options": ("red", "blue")},
    ),
    "POPE": (
        {"id": "3", "question_id": "1", "question": "Is there a cat?", "answer": "no", "image_source": "COCO_1",
         "category": "random"},
        {"id": "3", "task": "yes_no", "answer": "no", "group": "COCO_1", "category": "random",
         "extra": {"question_id": "1"}},
    ),
    "TextVQA": (
        {"image_id": "a", "question_id": 34602, "question": "what?", "question_tokens": ["what"], "image_width": 3,
         "answers": ["nokia"] * 10, "image_classes": ["Bell"], "set_name": "val", "ocr_tokens": ["N"]},
        {"id": "34602", "task": "vqa", "answer": "nokia", "answers": ("nokia",) * 10},
    ),
    "VQAv2": (
        {"question": "What?", "question_id": 9, "answers": VQA_ANSWERS, "question_type": "what"},
        {"id": "9", "task": "vqa", "answers": ("cat", "cat"),
         "label": '[{"answer":"cat","answer_confidence":"yes","answer_id":1},'
                  '{"answer":"cat","answer_confidence":"yes","answer_id":2}]'},
    ),
    "MME": (
        {"question_id": "color/1.jpg", "question": "Is it red?", "answer": "Yes", "category": "color"},
        {"id": "000000000", "task": "yes_no", "group": "color/1.jpg", "category": "color", "answer": "Yes"},
    ),
    "DocVQA": (
        {"questionId": "5", "question": "Who?", "answers": ["Ann", "ann"], "docId": 3},
        {"id": "5", "task": "vqa", "answer": "Ann", "answers": ("Ann", "ann"), "extra": {"docId": 3}},
    ),
    "ChartQA": (
        {"type": "human_test", "question": "How many?", "answer": "14"},
        {"id": "000000000", "task": "vqa", "answer": "14", "category": "human_test"},
    ),
    "COCO": (
        {"question_id": "COCO_val_1", "id": 1, "question": None, "answer": ["A cat.", "Cat."]},
        {"id": "COCO_val_1", "task": "caption", "answer": None, "answers": ("A cat.", "Cat."), "question": None},
    ),
    "OCRBench": (
        {"dataset": "IIIT5K", "question": "what is written?", "question_type": "Regular Text Recognition",
         "answer": ["CENTRE"]},
        {"id": "000000000", "task": "ocr", "answers": ("CENTRE",), "category": "Regular Text Recognition",
         "dataset": None, "extra": {"dataset": "IIIT5K"}},
    ),
    "MMT-Bench with several images": (
        {"index": 4, "question": "Which?", **{letter: letter.lower() for letter in "ABCDEFGHI"}, "answer": "I",
         "image": [cell(1), cell(2)], "category": "c"},
        {"id": "4", "options": tuple("abcdefghi"), "answer": "I"},
    ),
    "anything with question, answer and image": (
        {"question": "What?", "answer": "A cat.", "extra": "x"},
        {"id": "000000000", "task": "vqa", "answer": "A cat."},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_each_layout_is_told_by_its_columns(tmp_path: Path, name: str) -> None:
    row, expected = LAYOUTS[name]
    record = only(tmp_path, **row)
    assert {field: getattr(record, field) for field in expected} == expected
    images = [make_image(1), make_image(2)] if isinstance(row.get("image"), list) else [make_image(1)]
    assert [image.bytes for image in record.images] == images
    assert [part.type for part in record.messages[0].content] == ["image"] * len(images) + ["text"]
    assert record.messages[0].content[-1].text


def test_an_image_may_be_a_path_under_the_image_root(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(make_image(5))
    record = only(tmp_path, question="What?", answer="x", image={"bytes": None, "path": "a.png"})
    assert record.images[0].bytes == make_image(5)


def test_what_pandas_writes_for_an_empty_cell_is_empty(tmp_path: Path) -> None:
    nan = float("nan")
    record = only(tmp_path, question="Which?", hint=nan, A="a", B=2.5, C=nan, answer="B", index=3, category=nan)
    assert (record.hint, record.options, record.category, record.extra) == (None, ("a", "2.5"), None, {})
    record = only(tmp_path, question="How many?", answer=nan)
    assert (record.answer, record.label) == (None, None)


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({"question": None, "answer": "x"}, "question.missing"),
        ({"question": "What?", "answer": "x", "image": None}, "image.absent"),
        ({"question": "What?", "answer": "x", "image": {"bytes": b"no", "path": None}}, "image.format"),
        ({"question": "What?", "A": "a", "B": "b", "index": 1, "answer": "C"}, "answer.not_an_option"),
        ({"question": "What?", "A": "a", "B": "b", "index": " ", "answer": "A"}, "id.type"),
        ({"question": "What?", "answer": "x", "l2-category": 7}, "l2_category.type"),
    ],
)
def test_a_bad_row_is_refused_by_code(tmp_path: Path, row: dict, code: str) -> None:
    records = read(parquet(tmp_path / "t.parquet", {"image": cell(), **row}), "hub_vqa")
    assert list(records) == []
    assert [reject.code for reject in records.rejects] == [code]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"question": "What?", "answer": "x"}, "no column 'image' with images"),
        ({"question": "What?", "answer": "x", "image": "a.png"}, "no column 'image' with images"),
        ({"question": "What?", "image": cell()}, "no column 'question' with an 'answer'"),
        ({"question": "What?", "answer": "x", "image": cell(), "prompt": "y"}, "it has a column 'prompt'"),
    ],
)
def test_other_tables_are_refused_with_a_reason(tmp_path: Path, row: dict, reason: str) -> None:
    assert FORMAT.mismatch(sample(parquet(tmp_path / "t.parquet", row))) == reason


def test_what_json_does_not_know_becomes_text_and_further_images_are_left_out(tmp_path: Path) -> None:
    table = pa.table(
        {
            "question": ["How much?"],
            "answer": ["1.50"],
            "image": [cell()],
            "at": [datetime.datetime(2026, 1, 2)],
            "digest": [b"hi"],
            "masks": [[cell(2)]],
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    records = read(tmp_path / "t.parquet", "hub_vqa")
    (record,) = records
    assert record.extra == {"at": "2026-01-02T00:00:00", "digest": "aGk="}
    assert [warning for warning in records.warnings if "'masks' holds further images" in warning]
