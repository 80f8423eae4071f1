"""Numbers join what an owner has on a model's card, and nothing of it is lost."""

import pytest

from mmconvert.dataset.front_matter import read_front_matter, replace_front_matter
from mmscore.reporting.model_card import join_results

OURS = {"dataset": {"name": "D"}, "metrics": [{"type": "accuracy", "config": "r@1", "value": 1}]}


@pytest.mark.parametrize(
    "index",
    [
        [{"name": "m", "results": [{"dataset": "D", "metrics": [{"type": "accuracy", "value": 3}]}]}],
        [{"name": "m", "results": [{"dataset": {"name": "D"}, "metrics": {"type": "accuracy"}}, "text", None]}],
        [{"name": "m", "results": [{"dataset": {"name": "D"}}, {"dataset": {"name": "D"}, "metrics": ["accuracy"]}]}],
        [{"name": "m", "results": [{"dataset": {"name": ["D"]}, "metrics": [{"type": ["accuracy"]}]}]}],
    ],
)
def test_results_of_another_shape_stay_in_a_models_card(index):
    [entry] = read_front_matter(join_results(replace_front_matter("Text", {"model-index": index}), [OURS], "m"))[
        "model-index"
    ]
    assert entry == {"name": "m", "results": [*index[0]["results"], OURS]}


@pytest.mark.parametrize("index", [["text"], "text", [{"name": "m", "results": "none yet"}], [None]])
def test_models_of_another_shape_stay_in_a_models_card(index):
    found = read_front_matter(join_results(replace_front_matter("", {"model-index": index}), [OURS], "m"))[
        "model-index"
    ]
    assert found == [*(index if isinstance(index, list) else [index]), {"name": "m", "results": [OURS]}]


def test_a_result_goes_with_the_last_of_its_numbers():
    other = {"type": "f1", "value": 2}
    for more in ([], [other]):
        there = {**OURS, "metrics": [{**OURS["metrics"][0], "value": 0}, *more]}
        text = replace_front_matter("", {"model-index": [{"results": [there]}]})
        [entry] = read_front_matter(join_results(text, [OURS], "m"))["model-index"]
        assert entry["results"] == [*([{**OURS, "metrics": [other]}] if more else []), OURS]


def test_lines_between_two_rules_stay_in_a_models_card():
    assert join_results("---\nA model.\n---\nText\n", [OURS], "m").endswith("---\n---\nA model.\n---\nText\n")


def test_a_model_without_a_card_gets_one():
    text = join_results("", [{"dataset": {"name": "D"}, "metrics": [{"type": "accuracy", "value": 1}]}], "m")
    assert read_front_matter(text)["model-index"][0]["name"] == "m"
