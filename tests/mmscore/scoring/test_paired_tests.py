import itertools
import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm, t

from mmscore.scoring.paired_tests import adjust_holm, compare_paired, compute_bootstrap_p, compute_mcnemar

BITS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=40)
NUMBERS = st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), min_size=2, max_size=30)


@given(BITS)
def test_mcnemar_is_the_binomial_test_of_the_rows_that_differ(pairs):
    found = compute_mcnemar(*zip(*pairs, strict=True))
    changed = [b - a for a, b in pairs if a != b]
    expected = binomtest(changed.count(1), len(changed), 0.5).pvalue if changed else 1.0
    assert found.p == pytest.approx(expected, rel=1e-12)
    assert found.only_a + found.only_b + found.both + found.neither == len(pairs)


@given(BITS)
def test_mcnemar_adds_up_every_split_at_least_as_lopsided(pairs):
    found = compute_mcnemar(*zip(*pairs, strict=True))
    changed = found.only_a + found.only_b
    far = abs(found.only_a - found.only_b)
    splits = [math.comb(changed, k) for k in range(changed + 1) if abs(changed - 2 * k) >= far]
    assert found.p == pytest.approx(sum(splits) / 2**changed, rel=1e-12)


def test_a_tiny_p_value_stays_above_zero():
    assert 0 < compute_mcnemar([1] * 1000, [0] * 1000).p < 1e-300
    assert 0 < compute_mcnemar([1] * 9000, [0] * 9000).p < 1e-300
    assert 0 < adjust_holm([compute_mcnemar([1] * 9000, [0] * 9000).p])[0] < 1e-300


def test_a_bootstrap_that_draws_nothing_as_extreme_counts_the_sample_itself():
    gains = np.random.default_rng(0).normal(5, 1, 40)
    found = compare_paired(np.zeros(40), gains, resamples=999)
    assert (found.p, found.resamples, found.test) == (1 / 1000, 999, "paired bootstrap")
    drawn = np.array([0.2, 1.0, 1.6, 0.9])
    assert compute_bootstrap_p(drawn, 0.7, [1] * 30) == 2 / 5


@pytest.mark.parametrize(("pairs", "tested"), [(29, False), (30, True)])
def test_fewer_than_30_pairs_have_no_bootstrap_p_value(pairs, tested):
    gains = np.random.default_rng(0).normal(0.1, 1, pairs)
    found = compare_paired(np.zeros(pairs), gains)
    assert (found.p is not None, found.p_bootstrap is not None) == (tested, tested)
    assert found.why_no_p == (None if tested else "fewer than 30 pairs")
    assert found.ci95 is not None
    exact = compare_paired([0] * pairs, [1] * pairs)
    assert (exact.test, exact.why_no_p, exact.p_bootstrap is not None) == ("exact McNemar", None, tested)


def test_one_cluster_has_no_test():
    found = compare_paired([0.0] * 40, [0.5] * 40, [1] * 40)
    assert (found.p, found.why_no_p, found.ci95) == (None, "one cluster", None)


def test_interval_and_p_value_of_few_clusters_agree():
    """Eight clusters: the interval ends at 0 where the p-value is 0.05."""
    random = np.random.default_rng(5)
    clusters = np.repeat(np.arange(8), 6)
    effect = np.repeat(random.normal(0, 1, 8), 6)
    plain = compare_paired(np.zeros(48), effect, clusters)
    edge = effect - plain.ci95[0]
    found = compare_paired(np.zeros(48), edge, clusters)
    assert found.ci95[0] == pytest.approx(0, abs=1e-9)
    assert found.p == pytest.approx(0.05, abs=0.03)
    # A t interval of 7 degrees of freedom, and not the plain percentiles.
    assert (found.ci95[1] - found.ci95[0]) / 2 == pytest.approx(2.36 * found.stderr, rel=0.1)


@given(NUMBERS)
def test_value_and_error_are_those_of_the_differences(pairs):
    a, b = zip(*pairs, strict=True)
    found = compare_paired(a, b, resamples=10)
    gains = [y - x for x, y in pairs]
    assert found.value == pytest.approx(statistics.fmean(gains), abs=1e-9)
    assert found.value == pytest.approx(found.b - found.a, abs=1e-9)
    assert found.stderr == pytest.approx(statistics.stdev(gains) / math.sqrt(len(gains)), abs=1e-9)


@given(NUMBERS, st.randoms())
def test_the_order_of_rows_changes_nothing(pairs, random):
    shuffled = random.sample(pairs, len(pairs))
    clusters = {pair: number for number, pair in enumerate(dict.fromkeys(pairs))}
    one, other = (
        compare_paired(*zip(*rows, strict=True), [clusters[row] for row in rows], resamples=50)
        for rows in (pairs, shuffled)
    )
    assert one.value == other.value
    assert one.p_bootstrap == other.p_bootstrap
    if one.ci95 is not None:
        assert one.ci95 == pytest.approx(other.ci95, abs=1e-12)


@given(NUMBERS)
def test_swapping_the_two_turns_the_sign(pairs):
    a, b = zip(*pairs, strict=True)
    assert compare_paired(a, b, resamples=5).value == -compare_paired(b, a, resamples=5).value


def test_the_bootstrap_agrees_with_every_resample_there_is():
    gains = (0.1, -0.4, 1.3, 0.2)
    means = sorted(statistics.fmean(drawn) for drawn in itertools.product(gains, repeat=4))
    found = compare_paired([0] * 4, gains, resamples=200_000)
    tail = norm.cdf(-t.ppf(0.975, 3) * math.sqrt(4 / 3))
    assert tail < 0.001
    assert found.ci95 == pytest.approx(np.quantile(means, (tail, 1 - tail)), abs=0.03)


@pytest.mark.parametrize("values", [2, 1_000_000], ids=["counted", "drawn"])
def test_both_ways_to_draw_give_the_error_of_the_closed_form(values):
    random = np.random.default_rng(3)
    a, b = (random.integers(0, values, 3_000) / values for _ in "ab")
    clusters = np.arange(3_000) // 3
    found = compare_paired(a, b, clusters)
    low, high = found.ci95
    assert found.resamples == 10_000
    assert found.clusters == 1_000
    assert (high - low) / (2 * 1.96) == pytest.approx(found.stderr, rel=0.05)


def test_a_seed_gives_the_same_numbers_again_and_another_gives_others():
    a, b = np.random.default_rng(1).random((2, 50))
    assert compare_paired(a, b) == compare_paired(a, b)
    assert compare_paired(a, b).ci95 != compare_paired(a, b, seed=1).ci95


def test_rows_of_one_cluster_count_as_one():
    once = compare_paired([0, 1, 0, 1, 0], [1, 1, 0, 1, 1])
    thrice = compare_paired([0, 1, 0, 1, 0] * 6, [1, 1, 0, 1, 1] * 6, [0, 1, 2, 3, 4] * 6)
    assert thrice.stderr == pytest.approx(once.stderr)
    assert thrice.ci95 == once.ci95
    assert thrice.p == thrice.p_bootstrap > compare_paired([0, 1, 0, 1, 0] * 6, [1, 1, 0, 1, 1] * 6).p
    assert once.p == once.mcnemar.p


def test_equal_scores_differ_by_nothing():
    found = compare_paired([0.5, 0.2, 0.9] * 10, [0.5, 0.2, 0.9] * 10)
    assert (found.value, found.ci95, found.p, found.mcnemar) == (0.0, None, 1.0, None)


def test_an_interval_without_width_is_none():
    assert compare_paired([0] * 40, [1] * 40).ci95 is None
    assert compare_paired([0, 1] * 20, [1, 0] * 20, [n // 2 for n in range(40)]).ci95 is None


def test_a_row_that_lacks_one_score_does_not_count():
    found = compare_paired([1, math.nan, 0], [1, 1, math.nan])
    assert (found.n, found.value, found.stderr, found.ci95, found.p_bootstrap) == (1, 0.0, None, None, None)
    assert compare_paired([math.nan], [1]).n == 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_makes_a_p_value_smaller_and_keeps_their_order(values):
    adjusted = adjust_holm(values)
    assert all(p <= q <= 1 for p, q in zip(values, adjusted, strict=True))
    ranked = [q for _, q in sorted(zip(values, adjusted, strict=True))]
    assert ranked == sorted(ranked)
    assert min(adjusted) == min(1, min(values) * len(values))
