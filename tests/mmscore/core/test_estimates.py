import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from mmscore.core.distributions import Z95
from mmscore.core.estimates import Estimate, compute_agreement, compute_macro, compute_mean

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
    # Five clusters have four degrees of freedom: as wide as fewer rows would be.
    assert thrice.effective_n == pytest.approx(once.effective_n * (Z95 / t.ppf(0.975, 4)) ** 2)
    assert thrice.ci95[0] < once.ci95[0] < once.ci95[1] < thrice.ci95[1]


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
    assert 0 < low < 0.125 < high < 1
    groups = [compute_mean(values) for values in ([1, 1, 1, 0], [1, 1])]
    percents = compute_macro(group.scale(100, "percent") for group in groups)
    assert percents.ci95 == pytest.approx([100 * end for end in compute_macro(groups).ci95])
    assert percents.ci95[1] < 100
    assert compute_macro([compute_mean([-1, 1, 0]), compute_mean([0, 1])]).ci95[0] < 0


def test_an_average_of_groups_that_are_all_right_is_not_certain():
    found = compute_macro([compute_mean([1] * 4), compute_mean([1] * 12)])
    # As many rows as twice the harmonic mean of 4 and 12: the plain share of 12 rows.
    assert found.ci95 == pytest.approx(compute_mean([1] * 12).ci95)
    assert (found.value, found.stderr) == (1, 0)
    wrong = compute_macro([compute_mean([0] * 4), compute_mean([0] * 12)])
    assert wrong.ci95 == pytest.approx([1 - end for end in reversed(found.ci95)])


def test_groups_of_one_row_are_the_rows_of_one_share():
    right = [1, 1, 0, 1, 1, 1, 0, 1]
    found = compute_macro(compute_mean([value]) for value in right)
    low, high = compute_mean(right).ci95
    assert found.stderr is None
    assert found.ci95[0] == pytest.approx(low, abs=0.03)
    assert found.ci95[1] == pytest.approx(high, abs=0.03)
    assert compute_macro([compute_mean([1.0])] * 3).ci95 == pytest.approx(compute_mean([1] * 3).ci95)
    # Of one score between 0 and 1 the most variance is that of a share; of one outside them nothing is known.
    assert compute_macro([compute_mean([0.4]), compute_mean([0.3, 0.5])]).ci95[0] > 0
    assert compute_macro([compute_mean([4.0]), compute_mean([3.0, 5.0])]).ci95 is None


def test_large_groups_have_the_interval_of_their_errors():
    found = compute_macro([compute_mean([1] * 900 + [0] * 100), compute_mean([1] * 600 + [0] * 400)])
    assert found.ci95 == pytest.approx((0.75 - Z95 * found.stderr, 0.75 + Z95 * found.stderr), abs=0.001)


def _shares(clusters, size, right):
    return [float(row < right(cluster)) for cluster in range(clusters) for row in range(size)]


def test_few_equal_clusters_have_the_t_of_one_less():
    values = [1.5, 2.0, 4.0, 2.5, 3.0, 3.5]
    found = compute_mean([v + noise for v in values for noise in (-1, 0, 1)], [n // 3 for n in range(18)])
    assert found.ci95[1] - found.value == pytest.approx(t.ppf(0.975, 5) * found.stderr)


def test_clusters_of_unequal_size_or_one_that_stands_out_have_fewer_degrees_of_freedom():
    reaches = []
    for sizes, means in (([4] * 8, range(8)), ([1, 1, 1, 1, 1, 1, 1, 25], range(8)), ([4] * 8, [0, 1] * 3 + [0, 90])):
        clusters = [n for n, size in enumerate(sizes) for _ in range(size)]
        found = compute_mean([float(means[n]) for n in clusters], clusters)
        reaches.append((found.ci95[1] - found.value) / found.stderr)
    assert reaches[0] == pytest.approx(t.ppf(0.975, 7))
    assert reaches[1] > reaches[0]
    assert reaches[2] > reaches[0]
    assert reaches[1] <= t.ppf(0.975, 1) + 1e-9


def test_many_clusters_have_nearly_the_interval_of_the_normal_distribution():
    values, clusters = _shares(4000, 2, lambda n: n % 3), [n // 2 for n in range(8000)]
    found = compute_mean([v + 0.5 for v in values], clusters)
    assert found.ci95[1] - found.value == pytest.approx(Z95 * found.stderr, rel=1e-3)


def test_clusters_that_are_all_alike_count_once_each():
    low, high = compute_mean([1] * 40, [n // 5 for n in range(40)]).ci95
    assert low == pytest.approx(8 / (8 + t.ppf(0.975, 7) ** 2))
    assert high == 1
    # Sums of thirds are 0 but for rounding: no interval without width.
    low, high = compute_mean(_shares(8, 3, lambda n: 1), [n // 3 for n in range(24)]).ci95
    assert high - low > 0.3


def test_scaling_scales_everything():
    found = Estimate(0.5, 4, 0.1, (0.4, 0.6)).scale(100, "percent")
    assert (found.value, found.stderr, found.ci95, found.unit) == (50, 10, (40, 60), "percent")


@given(st.dictionaries(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), st.integers(1, 40), min_size=1))
def test_kappa_is_that_of_the_table_of_shares_and_lies_in_its_interval(pairs):
    found = compute_agreement(pairs)
    table = np.array([[pairs.get((one, other), 0) for other in "abc"] for one in "abc"]) / found.n
    by_chance = float(table.sum(0) @ table.sum(1))
    if found.kappa is None:
        assert (len(pairs), found.same) == (1, found.n)
        return
    assert found.kappa == pytest.approx((np.trace(table) - by_chance) / (1 - by_chance))
    assert found.ci95[0] <= found.kappa <= found.ci95[1] <= 1 + 1e-9


@pytest.mark.parametrize("shares", [(0.6, 0.01, 0.01, 0.38), (0.4, 0.1, 0.1, 0.4), (0.25, 0.25, 0.25, 0.25)])
def test_intervals_of_kappa_hold_the_truth_in_few_rows_too(shares):
    kinds = [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")]
    truth = compute_agreement({kind: round(1000 * share) for kind, share in zip(kinds, shares, strict=True)}).kappa
    drawn = np.random.default_rng(0).multinomial(30, shares, size=1000)
    found = [compute_agreement(dict(zip(kinds, map(int, counts), strict=True))).ci95 for counts in drawn]
    assert sum(low <= truth <= high for low, high in filter(None, found)) / 1000 > 0.93
