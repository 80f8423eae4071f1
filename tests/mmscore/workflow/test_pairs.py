"""Preference pairs and right responses out of several responses a question, against a slow script of its own."""

import json
from collections import defaultdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mmconvert.core.errors import Error, UsageError
from mmconvert.core.record import Record
from mmconvert.dataset.dataset import open_dataset
from mmconvert.pipeline.convert import Target, read, write
from mmscore.api import pairs
from mmscore.infer.backend import Generation
from support.asking import Says, asked, said, written
from support.predictions import write_predictions
from support.questions import make_image, record

WORDS = [["B. green", "A", "A"], ["A", "A", "A"], ["C", "D", "C"], ["D", None, None], [None, None, None]]
"""What is said to each question, whose answers are A, A, C, D, A."""


def questions() -> list[Record]:
    return [
        record(
            n, make_image("red", (24, 16 + n)), f"Question {n}?", answer=answer, task="multiple_choice",
            options=("red", "green", "blue", "pink"), question=f"Question {n}?",
        )
        for n, answer in enumerate("AACDA")
    ]  # fmt: skip


def answered(folder: Path, words=WORDS, records=None) -> tuple[Path, Path]:
    """A dataset, and the file of three responses to each of its questions."""
    place = written(folder / "data", records or questions())
    backend = Says(lambda row: words[int(row.sample)][row.variant or 0])
    asked(place, folder / "answers.parquet", backend, generation=Generation(), n=3)
    return place, folder / "answers.parquet"


def test_best_and_worst_become_a_pair(tmp_path):
    place, answers = answered(tmp_path)
    found = pairs(answers, tmp_path / "out", recipe="own_choice", answers=place)
    assert (found.questions, found.rows, found.used) == (5, 2, 2)
    assert found.left_out == {"unscored": 1, "single": 1, "tied": 1}
    assert (found.recipe, found.score) == ("own_choice@1", "accuracy")
    rows = [*open_dataset(tmp_path / "out").records("train")]
    assert [row.id for row in rows] == ["0", "2"]
    first, second = rows
    assert [turn.content[0].text for turn in first.preference.chosen] == ["A"]
    assert [turn.content[0].text for turn in first.preference.rejected] == ["B. green"]
    assert [turn.content[0].text for turn in second.preference.chosen] == ["C"]
    pair = first.preference
    assert (pair.margin, pair.score_chosen, pair.score_rejected) == (1.0, 1.0, 0.0)
    assert [image.bytes for image in first.images] == [make_image("red", (24, 16))]
    assert said(first)[-1] == "Question 0?"


def test_a_slow_script_finds_the_same_pairs(tmp_path):
    words = [[("A", "B", "unsure", "C")[(7 * n + k * k + n * k) % 4] for k in range(3)] for n in range(40)]
    records = [
        record(n, f"Question {n}?", answer="ABC"[n % 3], task="multiple_choice", options=("x", "y", "z"))
        for n in range(40)
    ]
    place, answers = answered(tmp_path, words, records)
    pairs(answers, tmp_path / "out", recipe="own_choice", answers=place)
    said_to = defaultdict(list)
    for row in pq.read_table(answers).to_pylist():
        said_to[row["sample"]].append((row["prediction"], float(row["prediction"] == row["answer"])))
    expected = {}
    for sample, responses in said_to.items():
        best, worst = max(score for _, score in responses), min(score for _, score in responses)
        if best > worst:
            first = {score: text for text, score in reversed(responses)}
            expected[sample] = (first[best], first[worst])
    rows = open_dataset(tmp_path / "out").records()
    found = {
        r.id: tuple(side[0].content[0].text for side in (r.preference.chosen, r.preference.rejected)) for r in rows
    }
    assert found == expected
    assert 5 < len(found) < 40


def test_right_responses_become_sft_rows_once_each(tmp_path):
    place, answers = answered(tmp_path)
    found = pairs(answers, tmp_path / "out", recipe="own_choice", answers=place, keep="right", split="test")
    assert (found.rows, found.used, found.left_out) == (4, 4, {"unscored": 1})
    rows = [*open_dataset(tmp_path / "out").records("test")]
    assert [(row.id, said(row)) for row in rows] == [
        ("0#0", ["Question 0?", "A"]),
        ("1#0", ["Question 1?", "A"]),
        ("2#0", ["Question 2?", "C"]),
        ("3#0", ["Question 3?", "D"]),
    ]
    assert len(rows[0].images) == 1


def test_pairs_go_to_the_forms_of_trainers(tmp_path):
    place, answers = answered(tmp_path)
    pairs(answers, tmp_path / "out", recipe="own_choice", answers=place)
    write(read(tmp_path / "out"), Target(tmp_path / "trl.jsonl"), "trl")
    rows = [json.loads(line) for line in (tmp_path / "trl.jsonl").read_text().splitlines()]
    assert [row["chosen"][0]["content"][0]["text"] for row in rows] == ["A", "C"]
    assert [row["margin"] for row in rows] == [1.0, 1.0]
    write(read(tmp_path / "out"), Target(tmp_path / "swift.jsonl"), "ms_swift")
    rows = [json.loads(line) for line in (tmp_path / "swift.jsonl").read_text().splitlines()]
    assert [row["rejected_response"] for row in rows] == ["B. green", "D"]


def test_prompts_without_images_need_no_dataset(tmp_path):
    records = [record(n, f"Question {n}?", answer="AB"[n]) for n in range(2)]
    _, answers = answered(tmp_path, [["A", "B", "A"], ["A", "B", "B"]], records)
    found = pairs(answers, tmp_path / "out", recipe="own_short_answer")
    rows = [*open_dataset(tmp_path / "out").records()]
    assert (found.rows, [row.id for row in rows]) == (2, ["0", "1"])
    assert [row.preference.chosen[0].content[0].text for row in rows] == ["A", "B"]
    assert {row.prediction for row in rows} == {None}


def test_images_come_from_the_dataset_alone(tmp_path):
    _, answers = answered(tmp_path)
    with pytest.raises(Error, match="the prompt shows 1 images, the row holds 0"):
        pairs(answers, tmp_path / "out", recipe="own_choice")
    assert not (tmp_path / "out").exists()


def test_a_gap_leaves_close_scores_out(tmp_path):
    place, answers = answered(tmp_path)
    with pytest.raises(Error, match=r"none of 5 questions gives a sample \(1 unscored, 1 single, 1 tied, 2 close\)"):
        pairs(answers, tmp_path / "out", recipe="own_choice", answers=place, min_gap=1.5)


def test_a_condition_chooses_questions(tmp_path):
    place, answers = answered(tmp_path)
    found = pairs(answers, tmp_path / "out", recipe="own_choice", answers=place, where="question = 'Question 2?'")
    assert (found.questions, found.rows) == (1, 1)
    assert [row.id for row in open_dataset(tmp_path / "out").records()] == ["2"]


def test_options_of_another_order_are_another_prompt(tmp_path):
    rows = [
        {"id": f"{n}", "sample": "s", "options": options, "answer": answer, "prediction": said_here}
        for n, (options, answer, said_here) in enumerate(
            [(["x", "y"], "A", "A"), (["y", "x"], "B", "A"), (["x", "y"], "A", "B")]
        )
    ]
    path = write_predictions(tmp_path / "p.parquet", rows, task="multiple_choice", question="Which?")
    with pytest.raises(Error, match=r"holds no prompts\. Give the dataset that was asked: answers=DATASET"):
        pairs(path, tmp_path / "out", recipe="own_choice")
    data = written(
        tmp_path / "data",
        [
            record(n, "Which?", answer=row["answer"], sample="s", task="multiple_choice", options=tuple(row["options"]))
            for n, row in enumerate(rows)
        ],
    )
    with pytest.raises(Error, match=r"none of 3 questions gives a sample \(3 single\)"):
        pairs(path, tmp_path / "out", recipe="own_choice", answers=data)


def test_unknown_scores_and_rounds_are_refused(tmp_path):
    place, answers = answered(tmp_path)
    with pytest.raises(UsageError, match="own_choice has no score 'acuracy'"):
        pairs(answers, tmp_path / "out", recipe="own_choice", answers=place, score="acuracy")
    rows = [{"id": str(n), "round": n, "prediction": "A", "answer": "A"} for n in range(2)]
    path = write_predictions(tmp_path / "r.parquet", rows)
    with pytest.raises(Error, match="the rows are rounds of conversations"):
        pairs(path, tmp_path / "out", recipe="own_short_answer")


def test_places_that_cannot_be_written_are_refused_before_anything_is_scored(tmp_path):
    place, answers = answered(tmp_path)
    before = sorted(path.name for path in place.rglob("*"))
    with pytest.raises(UsageError, match="is read as well"):
        pairs(answers, place, recipe="own_choice", answers=place, overwrite=True)
    with pytest.raises(UsageError, match="already exists"):
        pairs(answers, place, recipe="no_such_recipe")
    with pytest.raises(UsageError, match="is a URL"):
        pairs(answers, "s3://bucket/pairs", recipe="own_choice")
    assert sorted(path.name for path in place.rglob("*")) == before


def test_a_dataset_is_replaced_or_gets_another_split(tmp_path):
    place, answers = answered(tmp_path)
    for options in ({}, {"overwrite": True}, {"append": True, "split": "val"}):
        pairs(answers, tmp_path / "out", recipe="own_choice", answers=place, **options)
    assert open_dataset(tmp_path / "out").splits == {"train": 2, "val": 2}
