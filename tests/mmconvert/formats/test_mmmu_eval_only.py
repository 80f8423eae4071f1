"""MMMU's files of final answers and their key."""

import json
from pathlib import Path

import pytest

from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import read


def file(tmp_path: Path, rows: dict) -> Path:
    path = tmp_path / "model_val.json"
    path.write_text(json.dumps(rows), "utf-8")
    return path


def test_real_answers_and_their_key_have_the_same_ids(shared: Path) -> None:
    folder = shared / "real/field/mmmu_eval_only"
    answers, key = (list(read(folder / name)) for name in ("llava1.5_13b_val.json", "answer_dict_val.json"))
    assert {row.source.format for row in (*answers, *key)} == {"mmmu_eval_only"}
    assert len(answers) == len(key) == 900
    assert {row.id for row in answers} == {row.id for row in key}
    assert all(row.prediction is not None and row.label is None for row in answers)
    assert all(row.prediction is None and row.label is not None for row in key)
    assert {row.task for row in key} == {"multiple_choice", "vqa"}


def test_a_list_of_references_is_kept_as_one(tmp_path: Path) -> None:
    key = {"validation_Art_Theory_1": {"question_type": "short-answer", "ground_truth": ["0.5", "1/2"]}}
    (row,) = read(file(tmp_path, key))
    assert (row.answers, row.label, row.category, row.split) == (
        ("0.5", "1/2"),
        '["0.5","1/2"]',
        "Art_Theory",
        "validation",
    )


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (7, "response.type"),
        ({"question_type": "short-answer", "ground_truth": None}, "answer.missing"),
        ({"question_type": "short-answer", "ground_truth": 5}, "answer.type"),
    ],
)
def test_a_bad_member_is_refused_by_name(tmp_path: Path, value: object, code: str) -> None:
    records = read(file(tmp_path, {"validation_Art_1": "A", "validation_Art_2": value}), "mmmu_eval_only")
    assert [row.prediction for row in records] == ["A"]
    assert [reject.code for reject in records.rejects] == [code]


def test_answers_to_other_questions_stay_a_plain_table(tmp_path: Path) -> None:
    assert guess(file(tmp_path, {"v1_0": "yes", "v1_1": "no"}))[0] == "table"
