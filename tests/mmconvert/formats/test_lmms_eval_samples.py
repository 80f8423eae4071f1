"""lmms-eval's logged samples."""

import json
from pathlib import Path
from typing import Any

import pytest

from mmconvert.pipeline.convert import read
from mmscore.core.predictions.load import open_rows


def row(doc_id: Any = 0, target: Any = "cat", reply: Any = "A cat.", **more: Any) -> dict:
    return {"doc_id": doc_id, "target": target, "filtered_resps": [reply], "input": "What?", "doc_hash": "0", **more}


def lines(path: Path, *rows: dict) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_prompt_target_and_reply_are_taken_and_all_of_it_stays(tmp_path: Path) -> None:
    both = row(reply="cat", resps=[["A cat."]], exact_match=1.0)
    records = read(lines(tmp_path / "20260101_1_samples_textvqa_val.jsonl", both))
    (record,) = records
    assert (records.format, record.id, record.dataset, record.task) == ("lmms_eval_samples", "0", "textvqa_val", "vqa")
    assert (record.question, record.answer, record.prediction, record.variant) == ("What?", "cat", "cat", None)
    assert record.extra == {
        "target": "cat", "filtered_resps": ["cat"], "doc_hash": "0", "resps": [["A cat."]], "exact_match": 1.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("filtered", "resps", "replies"),
    [
        (["cat", "dog"], [["A cat."], ["A dog."]], ["cat", "dog"]),
        ([["cat", "dog"]], None, ["cat", "dog"]),
        (["cat"], [["cat", "dog", "owl"]], ["cat", "dog", "owl"]),
        (["cat"], [["A cat.", "A dog."]], ["cat"]),
        (["cat"], [["cat", [1]]], ["cat"]),
        (["cat", None], None, ["cat", None]),
        ([], [["cat", "dog"]], [None]),
    ],
)
def test_several_replies_are_several_rows_of_one_sample(
    tmp_path: Path, filtered: list, resps: list | None, replies: list
) -> None:
    logged = row(7) | {"filtered_resps": filtered} | ({} if resps is None else {"resps": resps})
    records = list(read(lines(tmp_path / "t.jsonl", logged)))
    assert [record.prediction for record in records] == replies
    assert {record.sample for record in records} == {"7"}
    several = len(replies) > 1
    assert [record.id for record in records] == ([f"7#{n}" for n in range(len(replies))] if several else ["7"])
    assert [record.variant for record in records] == (list(range(len(replies))) if several else [None])


@pytest.mark.parametrize(
    ("stem", "dataset", "task"),
    [
        ("20260101_120000_samples_mme", "mme", "yes_no"),
        ("2026-01-01T12-00-00_samples_coco2017_cap_val", "coco2017_cap_val", "caption"),
        ("samples_mmmu_val", "mmmu_val", "vqa"),
        ("mmmu_val", None, "vqa"),
    ],
)
def test_the_name_says_the_task(tmp_path: Path, stem: str, dataset: str | None, task: str) -> None:
    (record,) = read(lines(tmp_path / f"{stem}.jsonl", row()))
    assert (record.dataset, record.task) == (dataset, task)


def test_what_the_scores_repeat_of_the_question_tells_groups_and_options(tmp_path: Path) -> None:
    mme = {"question_id": "a/1.jpg", "category": "color", "score": 0.0}
    mmbench = {"index": 7, "question": "Which?", "answer": "B", "prediction": "B", "category": "c",
               "L2-category": "CP", "split": "dev", "A": "red", "B": "blue", "C": "nan", "D": "nan"}  # fmt: skip
    first, second = read(
        lines(
            tmp_path / "t.jsonl",
            row(0, "Yes", "No", mme_perception_score=mme),
            row(1, "B", "B", gpt_eval_score=mmbench),
        )
    )
    assert (first.group, first.category, first.extra["mme_perception_score"]) == ("a/1.jpg", "color", mme)
    assert (second.question, second.options, second.answer, second.task) == (
        "Which?", ("red", "blue"), "B", "multiple_choice",
    )  # fmt: skip
    assert (second.category, second.l2_category, second.split) == ("c", "CP", "dev")


@pytest.mark.parametrize(
    ("prompt", "target", "options"),
    [
        ("Which?\nA. red\nB. blue\n\nAnswer with the option's letter.", "B", ("red", "blue")),
        ("A. is this?\nWhich?\nA. red\nB. blue\nAnswer with it.", "A", ("red", "blue")),
        ("Which?\nA. red\nB. blue", "red", ()),
        ("Which?\nA. red\nB. blue", "C", ()),
        ("Which?\nA. red", "A", ()),
    ],
)
def test_options_come_from_the_prompt_where_the_target_is_a_letter_of_them(
    tmp_path: Path, prompt: str, target: str, options: tuple[str, ...]
) -> None:
    (record,) = read(lines(tmp_path / "t.jsonl", row(target=target, input=prompt)))
    assert record.options == options


@pytest.mark.parametrize(
    ("target", "answers", "label"),
    [
        ("['a', 'b']", ("a", "b"), "\"['a', 'b']\""),
        ("[sic", ("[sic",), '"[sic"'),
        (["a", 2], ("a", "2"), '["a",2]'),
        (None, (), None),
    ],
)
def test_lists_of_references_are_read(tmp_path: Path, target: Any, answers: tuple[str, ...], label: str | None) -> None:
    (record,) = read(lines(tmp_path / "t.jsonl", row(target=target)))
    assert (record.answers, record.label) == (answers, label)


def test_a_chat_input_stays_beside(tmp_path: Path) -> None:
    (record,) = read(lines(tmp_path / "t.jsonl", row(input=[{"role": "user"}])))
    assert (record.messages, record.question, record.extra["input"]) == ((), None, [{"role": "user"}])


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (row(None), "id.missing"),
        (row(reply=["-1.5", "False"]), "prediction.type"),
        (row(reply=3.5), "prediction.type"),
        (row(target={"a": 1}), "answer.type"),
    ],
)
def test_a_bad_row_is_refused_and_the_others_go_on(tmp_path: Path, bad: dict, code: str) -> None:
    records = read(lines(tmp_path / "t.jsonl", bad, row(9)), "lmms_eval_samples")
    assert [record.id for record in records] == ["9"]
    assert [reject.code for reject in records.rejects] == [code]


def test_mmscore_opens_it(tmp_path: Path) -> None:
    rows = open_rows(lines(tmp_path / "x_samples_mme.jsonl", row(0, "Yes", "Yes"), row(1, "No", "Yes")))
    assert (len(rows), rows.list_distinct("dataset"), rows.list_distinct("task")) == (2, ["mme"], ["yes_no"])
