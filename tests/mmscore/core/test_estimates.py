import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmscore.core.estimates import Estimate, compute_macro, compute_mean

VALUES = st.lists(st.floats(-100, 100), min_size=2, max_size=30)


@given(VALUES)
def test_mean_and_error_are_those_of_the_statistics_module(values):
    found = compute_mean(values)
    assert found.value == pytest.approx(statistics.fmean(values), abs=1e-9)
    assert found.stderr == pytest.approx(statistics.stdev(values) / math.sqrt(len(values)), abs=1e-9)


@given(VALUES, st.randoms())
def test_the_order_of_rows_does_not_matter(values, random):
    shuffled = random.sample(values, len(values))
    assert compute_mean(shuffled).value == compute_mean(values).value


@given(VALUES)
def test_clusters_of_one_row_change_nothing(values):
    assert compute_mean(values, range(len(values))).stderr == pytest.approx(compute_mean(values).stderr, abs=1e-9)


def test_repeated_rows_in_one_cluster_give_the_error_of_the_single_rows():
    once = compute_mean([1, 0, 0, 1, 1])
    thrice = compute_mean([1, 0, 0, 1, 1] * 3, list(range(5)) * 3)
    assert thrice.value == once.value
    assert thrice.stderr == pytest.approx(once.stderr)
    assert thrice.ci95 == pytest.approx(once.ci95)


def test_a_score_that_a_row_lacks_does_not_count():
    found = compute_mean([1.0, math.nan, 0.0], [1, 2, 3])
    assert (found.value, found.n) == (0.5, 2)


def test_nothing_and_one_row_have_no_error():
    assert math.isnan(compute_mean([]).value)
    assert compute_mean([]).ci95 is None
    assert compute_mean([1.0]).stderr is None
    assert compute_mean([1.0, 0.0], clusters=[7, 7]).stderr is None


def test_the_interval_of_a_share_is_wilsons():
    # Newcombe (1998), table I: 81 of 263.
    low, high = compute_mean([1] * 81 + [0] * 182).ci95
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)


def test_a_perfect_score_keeps_an_honest_interval():
    found = compute_mean([1] * 10)
    assert found.stderr == 0
    assert found.ci95 == pytest.approx((0.7225, 1.0), abs=1e-3)


def test_clusters_widen_the_interval_of_a_share():
    values, clusters = [1] * 10 + [0] * 10, [n // 2 for n in range(20)]
    assert compute_mean(values, clusters).ci95[0] < compute_mean(values).ci95[0]


def test_macro_weighs_groups_the_same():
    found = compute_macro([Estimate(1.0, 1, 0.3, (0, 1)), Estimate(0.0, 99, 0.4, (0, 1)), Estimate(math.nan, 0)])
    assert (found.value, found.n, found.stderr) == (0.5, 100, 0.25)
    assert compute_macro([Estimate(1.0, 1), Estimate(0.0, 99, 0.4)]).stderr is None
    assert math.isnan(compute_macro([]).value)


def test_an_interval_of_shares_over_groups_stays_among_shares():
    low, high = compute_macro([compute_mean([0, 0, 0, 1]), compute_mean([0, 0])]).ci95
    assert (low, high < 1) == (0, True)
    percents = [compute_mean(values).scale(100, "percent") for values in ([1, 1, 1, 0], [1, 1])]
    assert compute_macro(percents).ci95[1] == 100
    assert compute_macro([compute_mean([-1, 1, 0]), compute_mean([0, 1])]).ci95[0] < 0


def test_scaling_scales_everything():
    found = Estimate(0.5, 4, 0.1, (0.4, 0.6)).scale(100, "percent")
    assert (found.value, found.stderr, found.ci95, found.unit) == (50, 10, (40, 60), "percent")
