"""Two scores for each row, held against each other: differences, their uncertainty, and tests."""

import math
import sys
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from mmscore.core.distributions import (
    TAIL,
    compute_coin_tail,
    compute_normal_cdf,
    compute_t_cdf,
    find_normal_quantile,
    find_t_quantile,
)
from mmscore.core.estimates import FEW, compute_mean, count_degrees
from mmscore.core.table import Floats

RESAMPLES = 10_000
SEED = 0

_DRAWS = 200_000_000
"""Draws of single clusters that a bootstrap makes at most, unless that would leave fewer resamples than `_FEWEST`."""

_SAME = 1e-12
"""Numbers no further apart are one number, whatever their last digits say."""

_FEWEST = 1_000
_CHUNK = 4_000_000
_TALLIED = 32
"""With this many clusters to a distinct one, counting how often each is drawn beats drawing them."""


class McNemar(msgspec.Struct, frozen=True):
    """The exact test of McNemar for two scores of 0 and 1.

    Attributes:
        only_a: Rows that only the first got right.
        only_b: Rows that only the second got right.
        both: Rows that both got right.
        neither: Rows that neither got right.
        p: Chance of at least as lopsided a split of `only_a` and `only_b` if both were equally good; two-sided.
    """

    only_a: int
    only_b: int
    both: int
    neither: int
    p: float


class Difference(msgspec.Struct, frozen=True):
    """How far a second score lies above a first one, over the rows that have both.

    Attributes:
        n: Rows that have both.
        clusters: Groups of rows that hang together; equal to `n` where none do.
        a: Mean of the first score.
        b: Mean of the second score.
        value: `b - a`.
        stderr: Standard error of `value`, None with fewer than two clusters.
        ci95: 95 % interval of `value`: percentiles of the paired bootstrap, see `find_percentiles`; None with fewer
            than two clusters, and where all resamples are the same.
        p_bootstrap: Two-sided p-value of the paired bootstrap; None with fewer than two clusters or 30 pairs.
        resamples: How many resamples the bootstrap drew.
        mcnemar: The exact test, None where a score is neither 0 nor 1.
    """

    n: int
    clusters: int
    a: float
    b: float
    value: float
    stderr: float | None
    ci95: tuple[float, float] | None
    p_bootstrap: float | None
    resamples: int
    mcnemar: McNemar | None

    @property
    def test(self) -> str | None:
        """The test to go by: McNemar's for single rows of 0 and 1, else the bootstrap, which knows clusters."""
        if self.mcnemar is not None and self.clusters == self.n:
            return "exact McNemar"
        return None if self.p_bootstrap is None else "paired bootstrap"

    @property
    def p(self) -> float | None:
        """The p-value of `test`, two-sided, above 0; None where there is no test."""
        return self.mcnemar.p if self.mcnemar is not None and self.clusters == self.n else self.p_bootstrap

    @property
    def why_no_p(self) -> str | None:
        """Why there is no test; None where there is one."""
        return None if self.p is not None else explain_no_test(self.n, self.clusters)


def compute_mcnemar(a: npt.ArrayLike, b: npt.ArrayLike) -> McNemar:
    """Test whether two scores of 0 and 1 differ, exactly.

    Args:
        a: One score a row.
        b: The other score of the same rows.

    Returns:
        The four counts and the two-sided p-value of the binomial test on the rows that differ; 1.0 when none does.

    Reference: McNemar (1947); the exact form conditions on the rows that differ.

    Example:
        >>> compute_mcnemar([1, 1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0, 0])
        McNemar(only_a=6, only_b=0, both=0, neither=1, p=0.03125)
    """
    first, second = np.asarray(a, dtype=bool), np.asarray(b, dtype=bool)
    only_a, only_b = int(np.sum(first & ~second)), int(np.sum(~first & second))
    both, changed = int(np.sum(first & second)), only_a + only_b
    # Of thousands of rows to none the chance is too small for a float, and yet not 0.
    p = min(1.0, max(2 * compute_coin_tail(min(only_a, only_b), changed), sys.float_info.min)) if changed else 1.0
    return McNemar(only_a, only_b, both, first.size - changed - both, p)


def compare_paired(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Difference:
    """Measure how far `b` lies above `a`, row by row.

    The bootstrap draws whole clusters with replacement. Its p-value is the share of resamples whose
    difference lies at least as far from the measured one as that lies from 0, see `compute_bootstrap_p`. With very many
    clusters of ever other values it draws fewer resamples than asked for, never under 1,000.

    Args:
        a: One number a row; NaN marks a row that does not take part.
        b: The other number of the same rows.
        clusters: A whole number for each row, equal for rows of one cluster; None for no clusters.
        resamples: How many resamples to draw, at least 1.
        seed: Start of the draws; the same seed gives the same numbers, in whatever order rows stand.

    Returns:
        The difference in the scores' own unit; NaN with `n` 0 when no row has both.

    Reference: Efron and Tibshirani (1993), chapters 13 and 16; Miller, "Adding Error Bars to Evals" (2024), section 4.

    Example:
        >>> found = compare_paired([1, 1, 0, 0], [1, 1, 1, 0])
        >>> found.value, found.mcnemar.only_b, found.p
        (0.25, 1, 1.0)
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    present = ~(np.isnan(first) | np.isnan(second))
    first, second = first[present], second[present]
    n = int(first.size)
    if n == 0:
        return Difference(0, 0, math.nan, math.nan, math.nan, None, None, None, 0, None)
    codes = np.arange(n) if clusters is None else np.unique(np.asarray(clusters)[present], return_inverse=True)[1]
    groups = int(codes.max()) + 1
    gain = second - first
    of_a, of_b, value = compute_mean(first).value, compute_mean(second).value, math.fsum(gain) / n
    binary = bool(np.all(np.isin(first, (0, 1)) & np.isin(second, (0, 1))))
    test = compute_mcnemar(first, second) if binary else None
    if groups < 2:
        return Difference(n, groups, of_a, of_b, value, None, None, None, 0, test)
    drawn, sizes = _resample(gain, codes, resamples, seed), np.bincount(codes)
    p = compute_bootstrap_p(drawn, value, sizes)
    error = compute_mean(gain, codes).stderr
    return Difference(n, groups, of_a, of_b, value, error, find_percentiles(drawn, sizes), p, int(drawn.size), test)


def find_percentiles(drawn: Floats, sizes: npt.ArrayLike) -> tuple[float, float] | None:
    """Give the 95 % interval of a bootstrap: percentiles that lie the further out the fewer units it drew from.

    The plain percentiles (2.5 and 97.5) are too narrow by the root of (G - 1) / G, and as the normal distribution is
    against Student's t. Both are made up for where units hold several rows or there are fewer than 30 of them.

    Args:
        drawn: The number in each resample.
        sizes: Rows of each unit that was drawn as a whole, at least two units.

    Returns:
        None where all resamples are the same: such an interval would have no width, which the data do not show.

    Reference: Hesterberg, "What Teachers Should Know About the Bootstrap" (2015), section 5.2 (expanded percentiles).
    """
    units = np.asarray(sizes, dtype=np.float64)
    if np.ptp(drawn) < _SAME:
        return None
    tail = TAIL
    if not _are_many_rows(units):
        reach = find_t_quantile(count_degrees(units), 1 - TAIL) * math.sqrt(len(units) / (len(units) - 1))
        tail = compute_normal_cdf(-reach)
    low, high = np.quantile(drawn, (tail, 1 - tail))
    return float(low), float(high)


def compute_bootstrap_p(drawn: Floats, value: float, sizes: npt.ArrayLike) -> float | None:
    """Give the two-sided p-value of a paired bootstrap, never 0: the measured sample counts as a resample.

    Where whole units of several rows were drawn, it is turned into that of Student's t by the rule of
    `find_percentiles`, so that test and interval agree.

    Args:
        drawn: The difference in each resample.
        value: The measured difference.
        sizes: Rows of each unit that was drawn as a whole, at least two units.

    Returns:
        (b + 1) / (B + 1) for b of B resamples that lie at least as far from the measured difference as that
        from 0; None with fewer than 30 pairs, of which too few resamples differ.

    Reference: Davison and Hinkley, "Bootstrap Methods and their Application" (1997), section 4.4.
    """
    units = np.asarray(sizes, dtype=np.float64)
    if units.sum() < FEW:
        return None
    # A resample that ties with the measured difference counts, whatever its last digit says.
    beyond = int(np.sum(np.abs(drawn - value) >= abs(value) - _SAME))
    p = (1 + beyond) / (1 + drawn.size)
    if _are_many_rows(units):
        return p
    reach = find_normal_quantile(p / 2) * math.sqrt((len(units) - 1) / len(units))
    return min(1.0, 2 * compute_t_cdf(count_degrees(units), reach))


def explain_no_test(pairs: int, units: int) -> str | None:
    """Say why a bootstrap of so many pairs in so many units gives no p-value; None where it does.

    Example:
        >>> explain_no_test(12, 12), explain_no_test(60, 1)
        ('fewer than 30 pairs', 'one cluster')
    """
    return f"fewer than {FEW} pairs" if pairs < FEW else "one cluster" if units < 2 else None


def _are_many_rows(units: Floats) -> bool:
    """Tell whether units are single rows, and enough of them for plain percentiles."""
    return len(units) >= FEW and len(units) == int(units.sum())


def _resample(gain: Floats, codes: npt.NDArray[np.int64], resamples: int, seed: int) -> Floats:
    """Draw the mean of `gain` again and again, cluster by cluster."""
    pairs = np.stack([np.bincount(codes, weights=gain), np.bincount(codes).astype(np.float64)], axis=1)
    # Sorted, so that the order of rows does not change what is drawn.
    distinct, times = np.unique(pairs, axis=0, return_counts=True)
    count = len(pairs)
    draws = np.random.default_rng(seed)
    tallied = len(distinct) * _TALLIED <= count
    width = len(distinct) if tallied else count
    resamples = min(resamples, max(_FEWEST, _DRAWS // width))
    step = max(1, _CHUNK // width)
    gains, sizes = (np.repeat(column, times) for column in distinct.T)
    alone = count == codes.size
    means = []
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        if tallied:
            sums = draws.multinomial(count, times / count, size=size) @ distinct
            means.append(sums[:, 0] / sums[:, 1])
        else:
            drawn = draws.integers(0, count, size=(size, count))
            means.append(gains[drawn].sum(axis=1) / (count if alone else sizes[drawn].sum(axis=1)))
    return np.concatenate(means)


def adjust_holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values for having looked several times (Holm's step-down).

    Args:
        p_values: One a test; None takes no part.

    Returns:
        Adjusted p-values in the same order, 0-1.

    Reference: Holm (1979).

    Example:
        >>> adjust_holm([0.01, 0.5, None, 0.03])
        [0.03, 0.5, None, 0.06]
    """
    adjusted: list[float | None] = [None] * len(p_values)
    known = sorted((p, number) for number, p in enumerate(p_values) if p is not None)
    worst = 0.0
    for rank, (p, number) in enumerate(known):
        worst = max(worst, min(1.0, p * (len(known) - rank)))
        adjusted[number] = worst
    return adjusted
