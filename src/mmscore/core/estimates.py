"""Means with their uncertainty; plain numbers in, plain numbers out."""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from mmconvert.core.plugin_struct import PluginStruct
from mmscore.core.distributions import TAIL, Z95, find_t_quantile

FEW = 30
"""Of fewer clusters an interval is rough, and a report says so; of fewer pairs a bootstrap gives no p-value."""

_NO_ERROR = 1e-12
"""A standard error below this is 0 but for rounding."""

_TOPS = {"fraction": 1.0, "percent": 100.0}
"""Most that a share can be, by unit."""


class Estimate(PluginStruct, frozen=True):
    """One number of a report.

    Attributes:
        value: The number, in `unit`; NaN when `n` is 0.
        n: Rows that went into it.
        stderr: Standard error of `value`, in `unit`; None when it cannot be told (one row), or not in closed form:
            a report draws rows again for it, see `mmscore.scoring.bootstrap`.
        ci95: 95 % confidence interval, in `unit`; None where `stderr` is None, but for a macro average.
        unit: fraction (0-1), percent (0-100), points or rows.
        higher_is_better: Direction of progress; None where the number has none.
        effective_n: So many independent rows would give a share of this value the interval that it has; None where the
            number is no share. One cluster alone, whose error nobody can tell, counts as one row. `compute_macro` needs
            it; no report holds it.
    """

    value: float
    n: int
    stderr: float | None = None
    ci95: tuple[float, float] | None = None
    unit: str = "fraction"
    higher_is_better: bool | None = True
    effective_n: float | None = None

    def scale(self, factor: float, unit: str) -> "Estimate":
        """Give the same estimate in another unit."""
        return replace(
            self,
            value=self.value * factor,
            stderr=None if self.stderr is None else self.stderr * factor,
            ci95=None if self.ci95 is None else (self.ci95[0] * factor, self.ci95[1] * factor),
            unit=unit,
        )


def compute_mean(values: npt.ArrayLike, clusters: npt.ArrayLike | None = None) -> Estimate:
    """Average values, with the standard error that their clusters allow.

    Rows of one cluster (a conversation, an image) count as correlated. With every row a cluster of its
    own the error is the usual one, sample deviation over the root of n. The interval is Wilson's
    for values that are all 0 or 1 (n divided by the design effect of the clusters), else the
    symmetric one, which does not leave 0 to 1 where no value does. Where rows share clusters,
    Student's t takes the place of the normal distribution, see `_find_quantile`.

    Args:
        values: One number a row; NaN marks a row that does not take part.
        clusters: A whole number for each row, equal for rows of one cluster; None for no clusters.

    Returns:
        The mean as a fraction; it does not depend on the order of the rows.

    Reference: Miller, "Adding Error Bars to Evals" (2024), section 2.2; Wilson (1927); Korn and Graubard,
        "Confidence intervals for proportions with small expected number of positive counts" (1998).

    Example:
        >>> compute_mean([1, 0, 1, 1]).value
        0.75
        >>> compute_mean([1, 1, 0, 0], clusters=[1, 1, 2, 2]).stderr
        0.5
        >>> compute_mean([]).n
        0
    """
    numbers = np.asarray(values, dtype=np.float64)
    present = ~np.isnan(numbers)
    numbers = numbers[present]
    n = int(numbers.size)
    if n == 0:
        return Estimate(math.nan, 0)
    binary = bool(np.all((numbers == 0) | (numbers == 1)))
    bounded = binary or bool(np.all((numbers >= 0) & (numbers <= 1)))
    # fsum: the same number for every order of the rows; sums of 0 and 1 are so by themselves.
    value = (float(numbers.sum()) if binary else math.fsum(numbers.tolist())) / n
    codes = np.arange(n) if clusters is None else np.unique(np.asarray(clusters)[present], return_inverse=True)[1]
    sizes = np.bincount(codes).astype(np.float64)
    groups, deviation = int(sizes.size), numbers - value
    if groups < 2:
        return Estimate(value, n, effective_n=1.0 if bounded else None)
    totals = np.bincount(codes, weights=deviation).astype(np.float64)
    error = math.sqrt(float(totals @ totals) * groups / (groups - 1)) / n
    quantile = Z95 if groups == n else _find_quantile(totals, sizes, float(deviation @ deviation))
    if binary:
        # So many independent rows would have this error; n itself without clusters.
        effective = value * (1 - value) / error**2 + 1 if error > _NO_ERROR else groups
        effective *= (Z95 / quantile) ** 2
        return Estimate(value, n, error, _compute_wilson(value, effective), effective_n=effective)
    low, high = value - quantile * error, value + quantile * error
    return Estimate(value, n, error, (max(0.0, low), min(1.0, high)) if bounded else (low, high))


class RaterAgreement(msgspec.Struct, frozen=True):
    """How far two raters agree.

    Attributes:
        n: Rows that both rated.
        same: Rows of which both say the same.
        kappa: Cohen's kappa: 1 for full agreement, 0 for as much as chance gives, negative for less; None where both
            say the same one thing of every row, for which it is not defined.
        ci95: Its 95 % interval; None where there is no kappa.
    """

    n: int
    same: int
    kappa: float | None
    ci95: tuple[float, float] | None


def compute_agreement(pairs: Mapping[tuple[Hashable, Hashable], int]) -> RaterAgreement:
    """Compute how far two raters agree, also beyond chance: Cohen's kappa.

    The interval is Wilson's of the share on which both agree, with the agreement by chance held fixed as in Cohen's
    own standard error. At high agreement the usual large-sample error is next to nothing: of 30 rows that agree in
    98 %, its intervals hold the truth in 45 of 100 samples, these in 97.

    Args:
        pairs: What both said of a row -> the number of such rows, at least one.

    Reference: Cohen, "A coefficient of agreement for nominal scales" (1960); Wilson (1927). Compared with Fleiss, Cohen
        and Everitt, "Large sample standard errors of kappa and weighted kappa" (1969).

    Example:
        >>> found = compute_agreement({("yes", "yes"): 20, ("yes", "no"): 5, ("no", "yes"): 10, ("no", "no"): 15})
        >>> found.n, found.same, found.kappa, [round(end, 2) for end in found.ci95]
        (50, 35, 0.4, [0.12, 0.62])
    """
    rows = sum(pairs.values())
    first: Counter[Hashable] = Counter()
    second: Counter[Hashable] = Counter()
    for (one, other), count in pairs.items():
        first[one] += count
        second[other] += count
    same = sum(count for (one, other), count in pairs.items() if one == other)
    by_chance = sum(count * second[said] for said, count in first.items())
    if by_chance == rows * rows:
        return RaterAgreement(rows, same, None, None)
    beyond = rows * rows - by_chance
    low, high = ((end * rows * rows - by_chance) / beyond for end in _compute_wilson(same / rows, rows))
    return RaterAgreement(rows, same, (same * rows - by_chance) / beyond, (max(-1.0, low), min(1.0, high)))


def describe_few_clusters(groups: int) -> str:
    """Say that intervals out of so few clusters are rough.

    Example:
        >>> describe_few_clusters(8)
        "fewer than 30 clusters (8): the 95 % intervals are wide, by Student's t, and rough. See docs/intervals.md."
    """
    told = "the 95 % intervals are wide, by Student's t, and rough. See docs/intervals.md."
    return f"fewer than {FEW} clusters ({groups}): {told}"


def describe_few_in_groups(column: str, few: int, groups: int) -> list[str]:
    """Say how many groups of a column have few clusters; nothing where none has.

    Example:
        >>> describe_few_in_groups("category", 2, 5)
        ['category: 2 of 5 groups have fewer than 30 clusters.']
    """
    return [f"{column}: {few} of {groups} groups have fewer than {FEW} clusters."] if few else []


def _find_quantile(totals: npt.NDArray[np.float64], sizes: npt.NDArray[np.float64], squares: float) -> float:
    """Find the 97.5 % point of Student's t for a standard error out of few clusters.

    The degrees of freedom are those of a variance that is a sum over clusters (Satterthwaite): one less than the
    clusters that weigh the same would be, and fewer where some totals stand out. The first weighs clusters
    as their sizes and the correlation within them make them vary (Kish); the second is the same ratio out of
    the totals themselves, whose fourth powers are three times the squared variances if they are normal. Equal
    clusters have G - 1, as is usual.

    Args:
        totals: Sum of the deviations from the mean, one a cluster.
        sizes: Rows of each cluster, at least one of them more than 1.
        squares: Sum of the squared deviations of all rows.

    Reference: Satterthwaite (1946); Kish, "Survey Sampling" (1965); Cameron and Miller, "A Practitioner's Guide to
        Cluster-Robust Inference" (2015), section VI.
    """
    n, groups, peak = float(sizes.sum()), len(sizes), float(np.abs(totals).max())
    if squares <= 0 or peak <= _NO_ERROR:
        return find_t_quantile(count_degrees(sizes), 1 - TAIL)
    inflation = float(totals @ totals) * groups / (groups - 1) / squares
    correlation = min(1.0, max(0.0, (inflation - 1) / (float(sizes @ sizes) / n - 1)))
    parts = (totals / peak) ** 2
    heavy = 3 * float(parts.sum()) ** 2 / float(parts @ parts) - 3
    return find_t_quantile(max(1.0, min(count_degrees(sizes * (1 + (sizes - 1) * correlation)), heavy)), 1 - TAIL)


def _compute_wilson(share: float, n: float) -> tuple[float, float]:
    centre = (share + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
    half = Z95 / (1 + Z95**2 / n) * math.sqrt(share * (1 - share) / n + Z95**2 / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def compute_macro(estimates: Iterable[Estimate]) -> Estimate:
    """Average the numbers of groups, each group counting the same.

    The interval of shares is Wilson's, with as many rows as would give a plain share the variance of the average. A
    group's own variance is that of its share drawn towards the average by four rows (the square of 1.96), so that
    a small group that is all right, or has one row, is not taken for certain. Where all groups are at 0 or 1, it is
    the number of groups times the harmonic mean of their sizes.

    Args:
        estimates: One estimate a group, all in one unit; groups without rows do not take part.

    Returns:
        The unweighted mean in the same unit; `n` counts rows. No standard error where a group has none. The interval of
        shares stays in 0 to 1, or 0 to 100 percent; other numbers have the symmetric one, none where a group lacks
        its error.

    Reference: Agresti and Coull, "Approximate is better than exact" (1998), for the four rows; Wilson (1927).

    Example:
        >>> compute_macro([Estimate(1.0, 10), Estimate(0.5, 90)]).value
        0.75
        >>> low, high = compute_macro([compute_mean([1, 1, 1]), compute_mean([1, 1])]).ci95
        >>> round(low, 2), high
        (0.56, 1.0)
    """
    present = [e for e in estimates if e.n]
    if not present:
        return Estimate(math.nan, 0)
    first, count = present[0], len(present)
    value = math.fsum(e.value for e in present) / count
    errors = [e.stderr for e in present if e.stderr is not None]
    error = math.sqrt(math.fsum(e * e for e in errors)) / count if len(errors) == count else None
    whole = replace(first, value=value, n=sum(e.n for e in present), stderr=error, ci95=None, effective_n=None)
    top = _TOPS.get(first.unit)
    sizes = [] if top is None else [_count_effective(e.scale(1 / top, "fraction")) for e in present]
    if top is not None and all(sizes):
        effective = _combine_shares([e.value / top for e in present], [size for size in sizes if size])
        low, high = _compute_wilson(value / top, effective)
        return replace(whole, ci95=(low * top, high * top), effective_n=effective)
    return whole if error is None else replace(whole, ci95=(value - Z95 * error, value + Z95 * error))


def _count_effective(share: Estimate) -> float | None:
    """Count the independent rows that would give a share its error; None for what is no share."""
    if share.effective_n or not (share.ci95 and share.stderr and 0 <= share.ci95[0] <= share.ci95[1] <= 1):
        return share.effective_n
    return share.value * (1 - share.value) / share.stderr**2 + 1


def _combine_shares(shares: Sequence[float], sizes: Sequence[float]) -> float:
    """Count the independent rows that would give a plain share the variance of the mean of several."""
    count, mean, drawn = len(shares), math.fsum(shares) / len(shares), Z95**2
    floors = [(share * n + mean * drawn) / (n + drawn) for share, n in zip(shares, sizes, strict=True)]
    variance = math.fsum(share * (1 - share) / n for share, n in zip(floors, sizes, strict=True))
    if 0 < mean < 1 and variance > 0:
        return mean * (1 - mean) * count**2 / variance
    return count**2 / math.fsum(1 / n for n in sizes)


def count_degrees(weights: npt.NDArray[np.float64]) -> float:
    """Count the degrees of freedom of clusters of these weights (Kish's number of equal ones, less 1), at least 1."""
    return max(1.0, float(weights.sum()) ** 2 / float(weights @ weights) - 1)
