"""What golden cases do not show of VLMEvalKit's recipes for multiple choice: the framework stops there."""

import json

import pytest

from mmconvert.core.errors import Error
from mmconvert.plugins.registry import load
from mmscore.core.recipe import Item
from support.items import score_items


def _list_items(count):
    return [Item(id=str(n), prediction="yes", answer="yes", extra=json.dumps({"type": "yes_no"})) for n in range(count)]


@pytest.mark.parametrize("name", ["vlmevalkit_crpe", "vlmevalkit_naturalbench"])
def test_rows_that_are_no_whole_groups_are_refused(name):
    recipe = load("mmscore.recipes", name)
    with pytest.raises(Error, match="7 rows are no whole groups of 4"):
        recipe.settle(score_items(_list_items(7), recipe), "1")


def test_groups_of_naturalbench_are_rows_in_order_of_their_index():
    recipe = load("mmscore.recipes", "vlmevalkit_naturalbench")
    responses = {"10": "yes", "2": "yes", "3": "no", "9": "no"}
    items = [Item(id=id, prediction=said, extra='{"type": "yes_no"}') for id, said in responses.items()]
    scores = score_items(items, recipe).scores
    assert scores["accuracy"].tolist() == [1.0, 1.0, 1.0, 1.0]
    assert [value for value in scores["group_accuracy"].tolist() if value == value] == [1.0]


def test_a_category_that_vmcbench_lacks_is_left_out_of_the_means():
    recipe = load("mmscore.recipes", "vlmevalkit_vmcbench")
    items = [
        Item(id="0", prediction="A", options=("x", "y"), answer="A", category="TextVQA"),
        Item(id="1", prediction="A", options=("x", "y"), answer="B", category="GQA"),
    ]
    (line,) = recipe.table(score_items(items, recipe), "1")
    assert line == {"Overall": 50.0, "Reasoning": 0.0, "OCR": 100.0, "GQA": 0.0, "TextVQA": 100.0}


@pytest.mark.parametrize("name", ["vlmevalkit_mme_realworld", "vlmevalkit_treebench"])
def test_a_category_that_the_benchmark_does_not_have_is_refused(name):
    recipe = load("mmscore.recipes", name)
    extra = json.dumps({"target_instances": []})
    item = Item(prediction="A", answer="A", category="Perception/Sleep", l2_category="x", extra=extra)
    with pytest.raises(Error, match="expected Task/Subtask of"):
        recipe.table(score_items([item], recipe), "1")


@pytest.mark.parametrize("targets", ["[[1, 2, 3]]", "[1, 2, 3, 4]", "box"])
def test_targets_of_treebench_that_are_no_boxes_are_refused(targets):
    recipe = load("mmscore.recipes", "vlmevalkit_treebench")
    item = Item(prediction="A", answer="A", extra=json.dumps({"target_instances": targets}))
    with pytest.raises(Error, match="list"):
        recipe.metrics(item, recipe.parse(item, "1"), "1")
