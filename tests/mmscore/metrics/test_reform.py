import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import Error
from mmscore.metrics.reform_instability import reform_instability
from mmscore.metrics.reform_round_trend import reform_round_trend
from mmscore.metrics.reform_word_match import contains_words, match_kie, match_ocr

texts = st.text(alphabet="ab_ .é1猫", max_size=8)


@given(texts, texts)
def test_words_are_found_as_the_regular_expression_finds_them(text, words):
    assert contains_words(text, words) == bool(re.search(rf"\b{re.escape(words)}\b", text))


@pytest.mark.parametrize(
    ("reply", "reference", "right"),
    [
        ("It says U.S.A.", "usa", True),
        ("exits", "exit", False),
        ("hello world", ["hello", "world"], True),
        ("world", ["hello", "world"], False),
        ("anything", "北京", True),
        ("", "", False),
    ],
)
def test_ocr_keeps_ascii_letters_and_digits(reply, reference, right):
    assert match_ocr(reply, reference) is right


@pytest.mark.parametrize(
    ("reply", "references", "right"),
    [
        ("the total is 1,000-2", ["10002"], True),
        ("iso-9001 certified", ["no", "ISO 9001"], True),
        ("#1", ["#1"], False),
        ("x", [], False),
    ],
)
def test_kie_rewrites_both_sides(reply, references, right):
    assert match_kie(reply, references) is right


def test_kie_takes_one_reference_as_it_takes_several():
    assert (match_kie("cats", "two cats"), match_kie("2 cats", "two cats")) == (False, True)


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), min_size=1, max_size=5))
def test_instability_lies_between_agreement_and_chance(groups):
    value = reform_instability(groups)
    assert 0 <= value <= math.log(3) + 1e-12
    assert (value == 0) == all(len(set(group)) == 1 for group in groups)


def test_instability_needs_predictions():
    with pytest.raises(Error, match="no predictions"):
        reform_instability([])


def test_the_trend_of_a_single_round_is_flat_and_has_no_correlation():
    trend = reform_round_trend({3: [1, 0]})
    assert math.isnan(trend.correlation)
    assert trend.slope == 0.0


def test_every_round_counts_the_same():
    trend = reform_round_trend({0: [1.0] * 9, 1: [0.0], 2: [0.5, 0.5]})
    assert trend.slope == pytest.approx(-0.25)
    assert trend.correlation == pytest.approx(-0.5)


@pytest.mark.parametrize("rounds", [{}, {0: [1.0], 1: []}])
def test_no_trend_can_be_laid_through_rounds_without_scores(rounds):
    with pytest.raises(Error, match="round"):
        reform_round_trend(rounds)
