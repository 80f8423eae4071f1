import json

import pytest

from mmconvert.plugins import load
from mmscore.recipe import Item
from mmscore.scoring import score_items

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
