"""MathVista's questions and results."""

import json
from pathlib import Path

import pytest

from mmconvert.core.errors import Error
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import read

CHOICE = {
    "question": "Which?", "image": "1.png", "choices": ["a cat", "a dog"], "unit": None, "precision": None,
    "answer": "a dog", "question_type": "multi_choice", "answer_type": "text", "pid": "7",
    "metadata": {"split": "testmini", "category": "general-vqa", "skills": ["counting"]}, "response": "(B)",
}  # fmt: skip


def file(tmp_path: Path, **rows: dict) -> Path:
    path = tmp_path / "output_model.json"
    path.write_text(json.dumps(rows), "utf-8")
    return path


def test_real_results_keep_responses_and_extractions(shared: Path) -> None:
    records = read(shared / "real/field/mathvista/output_bard.json")
    rows = list(records)
    assert (records.format, len(rows), records.rejects) == ("mathvista", 250, [])
    assert {row.extra["question_type"] for row in rows} == {"multi_choice", "free_form"}
    assert all("extraction" in row.extra for row in rows)
    assert {row.split for row in rows} == {"testmini"}


def test_the_answer_becomes_a_letter_and_stays_as_it_was(tmp_path: Path) -> None:
    (row,) = read(file(tmp_path, seven={**CHOICE, "extraction": "B", "prediction": "a dog", "true_false": True}))
    assert (row.id, row.answer, row.label, row.options) == ("7", "B", '"a dog"', ("a cat", "a dog"))
    assert (row.prediction, row.extra["extraction"], row.extra["normalized"]) == ("(B)", "B", "a dog")
    assert (row.category, row.extra["skills"]) == ("general-vqa", ["counting"])


def test_the_members_name_is_the_id_where_there_is_no_pid(tmp_path: Path) -> None:
    (row,) = read(file(tmp_path, seven={name: value for name, value in CHOICE.items() if name != "pid"}))
    assert row.id == "seven"


def test_a_question_needs_its_image_and_a_result_does_not(tmp_path: Path) -> None:
    records = read(file(tmp_path, a=CHOICE, b={name: CHOICE[name] for name in CHOICE if name != "response"}))
    assert [row.id for row in records] == ["7"]
    assert [reject.code for reject in records.rejects] == ["image.missing"]
    assert list(records.warnings.values()) == [1]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"question": " "}, "question.missing"),
        ({"answer": "a cow"}, "answer.not_an_option"),
        ({"choices": "all"}, "list.syntax"),
        ({"choices": [["a"]]}, "options.type"),
        ({"response": 7}, "response.type"),
    ],
)
def test_a_bad_row_is_refused_by_name(tmp_path: Path, change: dict, code: str) -> None:
    records = read(file(tmp_path, good=CHOICE, bad={**CHOICE, **change, "pid": "8"}))
    assert [row.id for row in records] == ["7"]
    assert [reject.code for reject in records.rejects] == [code]


def test_other_objects_are_not_taken(tmp_path: Path) -> None:
    with pytest.raises(Error, match="question_type"):
        guess(file(tmp_path, a={name: CHOICE[name] for name in ("question", "choices", "metadata", "answer_type")}))
