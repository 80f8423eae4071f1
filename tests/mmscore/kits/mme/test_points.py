import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmscore.core.estimates import Estimate
from mmscore.core.recipe import Item
from mmscore.kits.mme.points import PLUS, POINTS, add_estimates, count_category_points, score_pairs
from support.items import score_items
from support.plain_recipe import RECIPE


def _paired(hits):
    """Score images of two questions each, in order; None for a question without an answer."""
    items = [Item(answer="x", prediction="x") for _ in hits]
    scored = score_items(items, RECIPE, "1").with_scores(accuracy=[math.nan if h is None else h for h in hits])
    return score_pairs(scored, [number // 2 for number in range(len(hits))])


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=4, max_size=40).filter(lambda hits: len(hits) % 2 == 0))
def test_a_category_has_the_mean_of_what_its_images_add(hits):
    scored = _paired(hits)
    pairs = list(zip(hits[::2], hits[1::2], strict=True))
    points = count_category_points(scored)
    assert points.value == pytest.approx(sum(50 * (a + b) + 100 * a * b for a, b in pairs) / len(pairs))
    assert points.n == len(pairs)
    assert points.value == pytest.approx(scored.mean(POINTS).value)


def test_an_image_with_an_open_question_takes_part_only_when_the_other_is_wrong():
    assert _paired([1.0, None, 0.0, None, 1.0, 1.0]).scores[PLUS].tolist()[2::2] == [0.0, 1.0]
    assert math.isnan(_paired([1.0, None]).scores[PLUS][0])


def test_a_single_question_makes_no_pair():
    scored = score_pairs(_paired([1.0, 1.0]), ["a", "b"])
    assert count_category_points(scored).n == 0


def test_errors_of_categories_add_as_those_of_independent_numbers():
    both = add_estimates([Estimate(10.0, 5, 3.0), Estimate(20.0, 5, 4.0)])
    assert (both.value, both.n, both.stderr, both.unit) == (30.0, 10, 5.0, "points")
    assert add_estimates([Estimate(10.0, 5, 3.0), Estimate(20.0, 1)]).stderr is None
