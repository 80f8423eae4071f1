"""MMMU-Pro's output files."""

import json
from pathlib import Path

import pytest

from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Target

ROW = {"id": "test_Art_1", "question": "<image 1>?", "options": "['red', 'green']", "answer": "B", "subject": "Art",
       "response": "(B)", "pred_indexs": "B", "if_right": True}  # fmt: skip


def lines(path: Path, *rows: dict) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.slow
def test_the_real_file_gives_every_row_and_goes_back(shared: Path, tmp_path: Path) -> None:
    source = shared / "real/mmmu_pro/gpt-4o_vision_direct.jsonl"
    records = read(source)
    rows = list(records)
    assert (records.format, len(rows), records.rejects) == ("mmmu_pro_outputs", 1730, [])
    assert {(row.dataset, row.subset, row.task, row.extra["model"], row.extra["mode"]) for row in rows} == {
        ("MMMU_Pro", "vision", "multiple_choice", "gpt-4o", "direct")
    }
    assert all(row.l2_category for row in rows)
    raw = [json.loads(line) for line in source.read_text().splitlines()]
    assert [row.extra["pred_indexs"] for row in rows] == [row["pred_indexs"] for row in raw]
    assert [row.prediction for row in rows] == [row["response"] for row in raw]
    target = tmp_path / source.name
    assert write(records, Target(target), "mmmu_pro_outputs") == []
    assert [json.loads(line) for line in target.read_text().splitlines()] == raw


def test_a_question_whose_answer_names_no_option_stays_with_a_remark(tmp_path: Path) -> None:
    row = {**ROW, "options": "[['A', 'B', 'Not enough information']]"}
    records = read(lines(tmp_path / "m_vision_cot.jsonl", row))
    (record,) = records
    assert (record.options, record.answer) == (("['A', 'B', 'Not enough information']",), "B")
    assert list(records.warnings) == ["an answer is the letter of no option, and no response can meet it"]


@pytest.mark.parametrize(
    ("stem", "model", "setting", "mode"),
    [
        ("gpt-4o_standard(10 options)_cot", "gpt-4o", "standard(10 options)", "cot"),
        ("Qwen_VL_standard (4 options)_direct", "Qwen_VL", "standard (4 options)", "direct"),
        ("a_vision_direct", "a", "vision", "direct"),
        ("results", None, None, None),
    ],
)
def test_the_name_says_model_setting_and_mode(
    tmp_path: Path, stem: str, model: str | None, setting: str | None, mode: str | None
) -> None:
    (record,) = read(lines(tmp_path / f"{stem}.jsonl", ROW))
    assert (record.extra.get("model"), record.subset, record.extra.get("mode")) == (model, setting, mode)


def test_a_failed_call_is_no_answer(tmp_path: Path) -> None:
    failed = {"error": "timeout"}
    records = read(lines(tmp_path / "m_vision_cot.jsonl", {**ROW, "response": failed}, {**ROW, "response": ""}))
    first, second = records
    assert (first.prediction, first.extra["response"], second.prediction) == (None, failed, "")
    write(records, Target(tmp_path / "n_vision_cot.jsonl"), "mmmu_pro_outputs")
    assert json.loads((tmp_path / "n_vision_cot.jsonl").read_text().splitlines()[0])["response"] == failed


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"id": 3}, "id.missing"),
        ({"question": 3}, "question.type"),
        ({"options": "['a', None]"}, "options.type"),
        ({"options": "[]"}, "options.count"),
        ({"options": None}, "options.type"),
        ({"answer": "green"}, "answer.type"),
        ({"response": 3}, "response.type"),
    ],
)
def test_a_bad_row_is_refused_and_the_others_go_on(tmp_path: Path, change: dict, code: str) -> None:
    records = read(lines(tmp_path / "t.jsonl", {**ROW, **change}, {**ROW, "id": "b"}), "mmmu_pro_outputs")
    assert [record.id for record in records] == ["b"]
    assert [reject.code for reject in records.rejects] == [code]
