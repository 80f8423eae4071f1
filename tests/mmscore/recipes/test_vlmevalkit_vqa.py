import json

import pytest

from mmconvert.plugins.registry import load
from mmscore.core.recipe import Item
from mmscore.scoring.evaluate import score
from support.items import score_items

RECIPE = load("mmscore.recipes", "vlmevalkit_vqa")


@pytest.mark.parametrize(
    ("dataset", "label", "reply", "name", "value"),
    [
        ("TextVQA_VAL", ["cat"] * 4, "A cat.", "vqa_score", 1.0),
        ("TextVQA_VAL", "['cat', 'cat', 'cat', 'cat']", "cat", "vqa_score", 1.0),
        ("ChartQA_TEST", "10", "10.4", "relaxed_accuracy", 1.0),
        ("DocVQA_VAL", "abcd", "abce", "anls", 0.75),
        ("GQA_TestDev_Balanced", "Yes", " yes", "accuracy", 1.0),
        ("my_own_set", "cat", "cat", "vqa_score", 0.0),
        ("ChartQA_TEST", 10, "10", "relaxed_accuracy", 1.0),
    ],
)
def test_the_benchmark_names_the_rule(dataset, label, reply, name, value):
    scored = score_items([Item(prediction=reply, label=json.dumps(label), dataset=dataset)], RECIPE)
    assert list(scored.scores) == [name]
    assert scored.scores[name].tolist() == [value]


def test_references_come_from_the_columns_where_there_is_no_label():
    items = [
        Item(prediction="x", answers=["y", "x"], dataset="ChartQA"),
        Item(prediction="x", answer="x", dataset="ChartQA"),
    ]
    assert score_items(items, RECIPE).scores["relaxed_accuracy"].tolist() == [1.0, 1.0]


def test_numbers_and_table_are_in_percent():
    items = [
        Item(prediction=reply, answer="x", dataset="ChartQA_TEST", category=category)
        for reply, category in (("x", "b"), ("y", "a"), ("x", "b"))
    ]
    scored = score_items(items, RECIPE)
    (metric,) = RECIPE.reduce(scored, "1").values()
    assert (metric.value, metric.unit) == (pytest.approx(200 / 3), "percent")
    (line,) = RECIPE.table(scored, "1")
    assert list(line) == ["Overall", "a", "b"]
    assert line["b"] == 100.0


def test_a_result_table_keeps_its_benchmark_and_its_groups_beside_a_dataset_that_names_none(tmp_path):
    replies = [("1", "10.4", "x"), ("2", "cat", "y")]
    lines = ["index,question,prediction,category", *(f"{id},?,{reply},{part}" for id, reply, part in replies)]
    (tmp_path / "m_ChartQA_TEST.csv").write_text("\n".join(lines))
    right = [
        {"id": id, "question": "?", "answer": answer, "prediction": ""} for id, answer in (("1", "10"), ("2", "c"))
    ]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in right))
    (entry,) = score(tmp_path / "m_ChartQA_TEST.csv", answers=tmp_path / "q.jsonl", by="category").entries
    assert (entry.recipe, entry.dataset, entry.metrics["relaxed_accuracy"].value) == (
        *("vlmevalkit_vqa", "ChartQA_TEST", 50.0),
    )
    assert {name: part["relaxed_accuracy"].value for name, part in entry.groups["category"].items()} == {
        "x": 100.0,
        "y": 0.0,
    }
