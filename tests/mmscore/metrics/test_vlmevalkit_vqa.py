import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import RowError
from mmscore.metrics.vlmevalkit_vqa import (
    RULES,
    Rule,
    hit,
    matches,
    references_of,
    rule_for,
    vlmevalkit_vqa,
)


@pytest.mark.parametrize(
    ("answers", "score"),
    [(["cat"], 0.0), (["cat"] * 4, 1.0), (["cat", "cat", "dog"], (1 / 3 + 1 / 3 + 2 / 3) / 3), (["dog"] * 3, 0.0)],
)
def test_vqa_score_leaves_each_reference_out_in_turn(answers, score):
    assert vlmevalkit_vqa("The cat.", answers) == pytest.approx(score)


def test_the_dataset_name_picks_the_rule():
    assert rule_for("OCRVQA_TESTCORE") == Rule("accuracy", "max")
    assert rule_for("GQA_TestDev_Balanced") == Rule("accuracy", "mean")
    assert rule_for("MyVQA") == Rule("vqa_score", "mean")


def test_references_are_lists_of_texts_or_one_text():
    assert references_of("['a', \"b's\"]") == ["a", "b's"]
    assert references_of("['a','b'") == ["['a','b'"]
    assert references_of("[__import__('os')]") == ["[__import__('os')]"]
    with pytest.raises(RowError, match="must be a text"):
        references_of("[1, 2]")


def test_no_references_have_no_best_one():
    assert math.isnan(hit([], "mean"))
    for aggregation in ("max", "anls"):
        with pytest.raises(RowError, match="empty"):
            hit([], aggregation)


@given(st.text(max_size=12), st.lists(st.text(max_size=12), min_size=1, max_size=4))
def test_every_rule_gives_a_fraction_and_does_not_mind_the_order(prediction, answers):
    for rule in {*RULES.values()}:
        score = vlmevalkit_vqa(prediction, answers, rule)
        assert 0 <= score <= 1
        assert vlmevalkit_vqa(prediction, answers[::-1], rule) == pytest.approx(score)
    assert len(matches(prediction, answers, "default").values) == len(answers)
