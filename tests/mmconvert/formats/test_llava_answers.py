"""LLaVA's answers to any benchmark."""

import json
from pathlib import Path

import pytest

from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import read

ROW = {"question_id": 1, "prompt": "Is it red?", "text": "No", "answer_id": "a", "model_id": "demo-7b", "metadata": {}}


def lines(path: Path, *rows: dict) -> Path:
    path.write_text("".join(json.dumps({**ROW, **row}) + "\n" for row in rows))
    return path


def test_prompt_is_the_question_and_text_the_prediction(tmp_path: Path) -> None:
    file = lines(tmp_path / "a.jsonl", {}, {"question_id": "x ", "text": "", "metadata": {"seed": 1}})
    assert guess(file)[0] == "llava_answers"
    first, second = read(file)
    assert (first.id, first.question, first.prediction, first.task) == ("1", "Is it red?", "No", "vqa")
    assert first.extra == {"model": "demo-7b", "answer_id": "a"}
    assert (second.id, second.prediction, second.extra["metadata"]) == ("x", "", {"seed": 1})


def test_ids_that_several_questions_share_are_those_of_an_image(tmp_path: Path) -> None:
    rows = [{"question_id": "a.png"}, {"question_id": "a.png", "prompt": "Is it blue?"}, {"question_id": "b.png"}]
    found = list(read(lines(tmp_path / "a.jsonl", *rows)))
    assert [(one.id, one.group) for one in found] == [
        ("000000000", "a.png"), ("000000001", "a.png"), ("000000002", "b.png"),
    ]  # fmt: skip
    assert found[1].question == "Is it blue?"


def test_rounds_of_one_question_are_its_variants(tmp_path: Path) -> None:
    rows = [{"question_id": 7, "round_id": n, "options": options} for n, options in enumerate((["r", "b"], ["b", "r"]))]
    found = list(read(lines(tmp_path / "a.jsonl", *rows)))
    assert [(one.id, one.sample, one.variant, one.options, one.task) for one in found] == [
        ("7", "7", 0, ("r", "b"), "multiple_choice"),
        ("7#1", "7", 1, ("b", "r"), "multiple_choice"),
    ]


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({"question_id": None}, "id.type"),
        ({"question_id": True}, "id.type"),
        ({"prompt": None}, "prompt.type"),
        ({"text": ["No"]}, "text.type"),
        ({"round_id": "first"}, "variant.type"),
        ({"options": "red"}, "list.syntax"),
        ({"options": []}, "options.count"),
    ],
)
def test_a_bad_row_is_refused_and_the_others_go_on(tmp_path: Path, row: dict, code: str) -> None:
    records = read(lines(tmp_path / "a.jsonl", row, {"question_id": 2}), "llava_answers")
    assert [record.id for record in records] == ["2"]
    assert [reject.code for reject in records.rejects] == [code]


@pytest.mark.parametrize(
    ("name", "rows", "first"),
    [
        ("llava_mme/llava-v1.5-13b_cognition.jsonl", 260, ("000000000", "Yes")),
        ("llava_mmbench/llava-v1.5-13b.jsonl", 298, ("34", "A")),
        ("llava_mmvet/llava-v1.5-7b.jsonl", 218, ("0", None)),
    ],
)
def test_published_answers_are_read_whole(shared: Path, name: str, rows: int, first: tuple) -> None:
    records = read(shared / "real/field" / name)
    found = list(records)
    assert (records.format, len(found), list(records.rejects)) == ("llava_answers", rows, [])
    assert found[0].id == first[0]
    assert first[1] in (None, found[0].prediction)


def test_rows_without_the_ids_of_answer_and_model_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"question_id": 7, "prompt": "Is it red?", "text": "Yes"}) + "\n")
    records = read(path)
    assert [(row.id, row.question, row.prediction) for row in records] == [("7", "Is it red?", "Yes")]
    assert records.format == "llava_answers"
