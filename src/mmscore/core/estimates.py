"""Means with their uncertainty; plain numbers in, plain numbers out."""

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from mmconvert.core.plugin_struct import PluginStruct

Z95 = 1.959963984540054
"""97.5 % point of the normal distribution."""

_TOPS = {"fraction": 1.0, "percent": 100.0}
"""Most that a share can be, by unit."""


class Estimate(PluginStruct, frozen=True):
    """One number of a report.

    Attributes:
        value: The number, in `unit`; NaN when `n` is 0.
        n: Rows that went into it.
        stderr: Standard error of `value`, in `unit`; None when it cannot be told (one row), or not in closed form:
            a report draws rows anew for it, see `mmscore.scoring.bootstrap`.
        ci95: 95 % confidence interval, in `unit`; None where `stderr` is None.
        unit: fraction (0-1), percent (0-100), points or rows.
        higher_is_better: Direction of progress; None where the number has none.
    """

    value: float
    n: int
    stderr: float | None = None
    ci95: tuple[float, float] | None = None
    unit: str = "fraction"
    higher_is_better: bool | None = True

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

    Rows of one cluster (a dialog, a picture) count as correlated. With every row a cluster of its
    own the error is the usual one, sample deviation over the root of n. The interval is Wilson's
    for values that are all 0 or 1 (n divided by the design effect of the clusters), else the
    normal one, which does not leave 0 to 1 where no value does.

    Args:
        values: One number a row; NaN marks a row that does not take part.
        clusters: A whole number for each row, equal for rows of one cluster; None for no clusters.

    Returns:
        The mean as a fraction; it does not depend on the order of the rows.

    Reference: Miller, "Adding Error Bars to Evals" (2024), section 2.2; Wilson (1927).

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
    # fsum: the same number for every order of the rows; sums of 0 and 1 are so by themselves.
    value = (float(numbers.sum()) if binary else math.fsum(numbers.tolist())) / n
    codes = None if clusters is None else np.unique(np.asarray(clusters)[present], return_inverse=True)[1]
    groups, error = _compute_error(numbers - value, codes)
    if error is None:
        return Estimate(value, n)
    if binary:
        # So many independent rows would have this error; n itself without clusters.
        effective = value * (1 - value) / error**2 + 1 if error > 0 else groups
        return Estimate(value, n, error, _compute_wilson(value, effective))
    low, high = value - Z95 * error, value + Z95 * error
    if bool(np.all((numbers >= 0) & (numbers <= 1))):
        low, high = max(0.0, low), min(1.0, high)
    return Estimate(value, n, error, (low, high))


def _compute_error(deviation: npt.NDArray[np.float64], codes: npt.NDArray[np.int64] | None) -> tuple[int, float | None]:
    """Count the clusters and give the standard error of the mean; without codes every row is one."""
    totals = deviation if codes is None else np.bincount(codes, weights=deviation)
    groups = int(totals.size)
    if groups < 2:
        return groups, None
    return groups, math.sqrt(float(totals @ totals) * groups / (groups - 1)) / deviation.size


def _compute_wilson(share: float, n: float) -> tuple[float, float]:
    centre = (share + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
    half = Z95 / (1 + Z95**2 / n) * math.sqrt(share * (1 - share) / n + Z95**2 / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def compute_macro(estimates: Iterable[Estimate]) -> Estimate:
    """Average the numbers of groups, each group counting the same.

    Args:
        estimates: One estimate a group, all in one unit; groups without rows do not take part.

    Returns:
        The unweighted mean in the same unit; `n` counts rows. No error where a group has none. The interval
        stays in 0 to 1, or 0 to 100 percent, where that of every group does.

    Example:
        >>> compute_macro([Estimate(1.0, 10), Estimate(0.5, 90)]).value
        0.75
    """
    present = [e for e in estimates if e.n]
    if not present:
        return Estimate(math.nan, 0)
    first, count = present[0], len(present)
    value = math.fsum(e.value for e in present) / count
    errors = [e.stderr for e in present if e.stderr is not None]
    whole = replace(first, value=value, n=sum(e.n for e in present), stderr=None, ci95=None)
    if len(errors) < count:
        return whole
    error = math.sqrt(math.fsum(e * e for e in errors)) / count
    low, high = value - Z95 * error, value + Z95 * error
    top = _TOPS.get(first.unit)
    if top is not None and all(e.ci95 and e.ci95[0] >= 0 and e.ci95[1] <= top for e in present):
        low, high = max(0.0, low), min(top, high)
    return replace(whole, stderr=error, ci95=(low, high))
