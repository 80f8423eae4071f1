"""AMBER's annotations and HallusionBench's own files."""

import json
from pathlib import Path
from typing import Any

import pytest

import mmscore
from mmconvert.pipeline.convert import read

PLACES = ("category", "subcategory", "visual_input", "set_id", "figure_id", "question_id")


def write_array(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps(rows))
    return path


def test_ambers_responses_are_scored_with_its_annotations(tmp_path: Path) -> None:
    kinds = ["discriminative-attribute-state", "discriminative-hallucination", "relation", "relation"]
    key = [{"id": n, "type": kind, "truth": "yes"} for n, kind in enumerate(kinds, 2)]
    key.insert(0, {"id": 1, "type": "generative", "truth": ["sky"], "hallu": ["sea"]})
    said = [{"id": n, "response": text} for n, text in enumerate(("Yes", "No, there is none.", "yes.", "No"), 2)]
    entry = mmscore.score(
        write_array(tmp_path / "responses.json", said), answers=write_array(tmp_path / "annotations.json", key)
    ).entries[0]
    # VLMEvalKit: Attribute 100, Existence 0, Relation 50, and their plain mean.
    assert (entry.recipe, entry.metrics["average"].value, entry.metrics["accuracy"].value) == (
        "vlmevalkit_amber",
        50,
        50,
    )
    assert (entry.counts.scored, entry.counts.missing) == (4, 0)


def build_hallusion(*answers: tuple[str, str, str]) -> list[dict[str, Any]]:
    """Make results of one set: figure, question and right answer each."""
    places = [("VD", "figure", "1", "3", figure, question) for figure, question, _ in answers]
    return [
        {**dict(zip(PLACES, place, strict=True)), "question": "Is it larger?", "gt_answer": right}
        for place, (_, _, right) in zip(places, answers, strict=True)
    ]


@pytest.mark.parametrize("apart", [False, True])
def test_hallusionbenchs_results_give_the_numbers_of_vlmevalkit(tmp_path: Path, apart: bool) -> None:
    key = build_hallusion(("0", "0", "1"), ("0", "1", "0"), ("1", "0", "1"), ("1", "1", "1"))
    said = [{**row, "model_prediction": text} for row, text in zip(key, ("Yes", "No.", "Yes, so", "No"), strict=True)]
    if apart:
        said = [{name: value for name, value in row.items() if name != "gt_answer"} for row in said]
    answers = write_array(tmp_path / "HallusionBench.json", key) if apart else None
    entry = mmscore.score(write_array(tmp_path / "results.json", said), answers=answers).entries[0]
    assert entry.recipe == "vlmevalkit_hallusionbench"
    numbers = {name: entry.metrics[name].value for name in ("aAcc", "fAcc", "qAcc")}
    assert numbers == {"aAcc": 75, "fAcc": 50, "qAcc": 50}

    # The same rows as VLMEvalKit's own table.
    table = [
        {"index": record.id, "question": record.question, "answer": record.answer, "category": record.category,
         "l2-category": record.l2_category, "prediction": row["model_prediction"]}
        for record, row in zip(read(write_array(tmp_path / "key.json", key)), said, strict=True)
    ]  # fmt: skip
    (tmp_path / "m_HallusionBench.json").write_text(json.dumps(table))
    other = mmscore.score(tmp_path / "m_HallusionBench.json").entries[0]
    assert {name: other.metrics[name].value for name in numbers} == numbers


@pytest.mark.parametrize(
    ("change", "code"),
    [({"gt_answer": "2"}, "answer.type"), ({"set_id": None}, "id.type"), ({"model_prediction": 1}, "prediction.type")],
)
def test_what_cannot_be_scored_is_refused(tmp_path: Path, change: dict[str, Any], code: str) -> None:
    rows = build_hallusion(("0", "0", "1"), ("0", "1", "0"), ("1", "0", "1"))
    records = read(write_array(tmp_path / "r.json", [*rows, {**rows[0], "figure_id": "7", **change}]))
    assert (len(list(records)), [one.code for one in records.rejects]) == (3, [code])
