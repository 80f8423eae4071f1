import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import RowError
from mmscore.metrics.vlmevalkit_vqa import (
    RULES,
    VqaRule,
    choose_rule,
    compare_references,
    read_references,
    reduce_matches,
    vlmevalkit_vqa,
)


@pytest.mark.parametrize(
    ("answers", "score"),
    [(["cat"], 0.0), (["cat"] * 4, 1.0), (["cat", "cat", "dog"], (1 / 3 + 1 / 3 + 2 / 3) / 3), (["dog"] * 3, 0.0)],
)
def test_vqa_score_leaves_each_reference_out_in_turn(answers, score):
    assert vlmevalkit_vqa("The cat.", answers) == pytest.approx(score)


def test_the_dataset_name_picks_the_rule():
    assert choose_rule("OCRVQA_TESTCORE") == VqaRule("accuracy", "max")
    assert choose_rule("GQA_TestDev_Balanced") == VqaRule("accuracy", "mean")
    assert choose_rule("ChartQA_TEST") == VqaRule("relaxed_accuracy", "max")
    assert choose_rule("DocVQA_VAL") == choose_rule("InfoVQA_TEST") == VqaRule("anls", "anls")
    assert choose_rule("MyVQA") == VqaRule("vqa_score", "mean")


def test_references_are_lists_of_texts_or_one_text():
    assert read_references("['a', \"b's\"]") == ["a", "b's"]
    assert read_references("['a','b'") == ["['a','b'"]
    assert read_references("[__import__('os')]") == ["[__import__('os')]"]
    with pytest.raises(RowError, match="must be a text"):
        read_references("[1, 2]")


def test_no_references_have_no_best_one():
    assert math.isnan(reduce_matches([], "mean"))
    for aggregation in ("max", "anls"):
        with pytest.raises(RowError, match="empty"):
            reduce_matches([], aggregation)


@given(st.text(max_size=12), st.lists(st.text(max_size=12), min_size=1, max_size=4))
def test_every_rule_gives_a_fraction_and_does_not_mind_the_order(prediction, answers):
    for rule in {*RULES.values()}:
        score = vlmevalkit_vqa(prediction, answers, rule)
        assert 0 <= score <= 1
        assert vlmevalkit_vqa(prediction, answers[::-1], rule) == pytest.approx(score)
    assert len(compare_references(prediction, answers, "default").values) == len(answers)
