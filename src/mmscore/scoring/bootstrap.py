"""Numbers that are no mean of rows, alone and held against each other: a recipe's own reduction on rows drawn again.

F1, corpus BLEU, correlations and the like have no closed form and no row to compare. The bootstrap draws rows
with replacement, the same for both sides, has the recipe reduce them again, and looks at how its numbers move,
or move apart. What counts together is drawn together: rows of one cluster, and of one value of a column that the
recipe names in `Recipe.joint`; every copy is a cluster of its own there.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from mmconvert.core.arrow import from_numpy, to_numpy
from mmconvert.core.errors import Error
from mmscore.core.estimates import Estimate
from mmscore.core.recipe import Metrics, Recipe
from mmscore.core.table import CLUSTER, Scored
from mmscore.scoring.paired_tests import SEED, compute_bootstrap_p, explain_no_test, find_percentiles

Ints = npt.NDArray[np.int64]

REDUCTIONS, ERROR_REDUCTIONS = 1_000, 500
"""Resamples at most, for a test and for an error: each takes a reduction of all rows of each side."""

_FEWEST = 200
_ROWS = 2_000
"""A file of more rows gets fewer resamples, so that no more rows are drawn, but never under `_FEWEST`."""

_MOST_ROWS = 100_000
"""A file of more rows gets no errors by resampling."""

_NO_NUMBER = pa.nulls(1, pa.int64())[0]


class NumberDifference(msgspec.Struct, frozen=True):
    """One number of a recipe on both sides, over the same rows.

    Attributes:
        a: The first side's.
        b: The second side's.
        unit: Unit of both.
        ci95: 95 % interval of `b - a`: percentiles of the paired bootstrap; None where none was drawn.
        p: Two-sided p-value of the paired bootstrap, above 0; None likewise, and with fewer than 30 pairs.
        resamples: Resamples in which both sides had the number.
        why_no_p: Why a number that was to be tested has no p-value.
    """

    a: float
    b: float
    unit: str
    ci95: tuple[float, float] | None = None
    p: float | None = None
    resamples: int = 0
    why_no_p: str | None = None

    @property
    def value(self) -> float:
        """How far the second lies above the first."""
        return self.b - self.a

    @property
    def test(self) -> str | None:
        """The test that `p` comes from."""
        return None if self.p is None else "paired bootstrap of the number"


def compare_numbers(
    a: Scored,
    b: Scored,
    recipe: Recipe,
    version: str,
    *,
    names: Collection[str] | None = None,
    means: Collection[str] = (),
    resamples: int,
    seed: int,
) -> Mapping[str, NumberDifference]:
    """Measure how far each number of `b` lies above that of `a`.

    With many rows it draws fewer resamples than asked for, see `REDUCTIONS`. A resample in which a side
    lacks a number, or has none to give (0 of 0), takes no part in it.

    Args:
        a: Settled rows of one side.
        b: The same rows of the other, in the same order.
        recipe: How they were scored.
        version: One of the recipe's versions.
        names: The numbers to compare; None for all.
        means: Numbers that are left untested: the scores of single rows are the better test.
        resamples: How many resamples to draw, at most.
        seed: Start of the draws; the same seed gives the same numbers, in whatever order rows stand.

    Returns:
        The numbers that both sides have.

    Reference: Efron and Tibshirani (1993), chapter 13; Koehn, "Statistical Significance Tests for Machine
        Translation Evaluation" (2004).
    """
    order = _sort_rows(a)
    sides = [side.take(order).only(recipe.keep) for side in (a, b)]
    of_a, of_b = (recipe.reduce(side, version) for side in sides)
    both = [name for name in of_a if name in of_b and (names is None or name in names)]
    found = {name: NumberDifference(of_a[name].value, of_b[name].value, of_a[name].unit) for name in both}
    tested = [name for name in found if name not in means]
    if not tested:
        return found
    units = _group_units(sides, recipe.joint)
    sizes = [len(unit) for unit in units]
    if len(units) < 2:
        return found | {name: _test_number(found[name], (), sizes) for name in tested}
    times = min(resamples, _count_resamples(len(order), REDUCTIONS))
    moved: dict[str, list[float]] = {name: [] for name in tested}
    for one, other in _resample(sides, units, recipe.joint, times, seed):
        try:
            here, there = recipe.reduce(one, version), recipe.reduce(other, version)
        except Error:
            continue
        for name in tested:
            if name in here and name in there:
                moved[name].append(there[name].value - here[name].value)
    return found | {name: _test_number(found[name], moved[name], sizes) for name in tested}


def add_errors(metrics: Metrics, scored: Scored, recipe: Recipe, version: str) -> Metrics:
    """Give numbers that have no closed form their standard error and 95 % interval.

    Args:
        metrics: The recipe's numbers of the rows.
        scored: Settled rows that have a score.
        recipe: How they were scored.
        version: One of the recipe's versions.

    Returns:
        The numbers, in order; those that have an error keep it. None gets one with fewer than two rows or clusters,
        or with more than 100,000 rows, which would take minutes.

    Reference: Efron and Tibshirani (1993), chapters 6 and 13.
    """
    # A number of one row is the same in every draw that has the row: no error can be told of it.
    lacking = [n for n, number in metrics.items() if number.stderr is None and number.n > 1]
    lacking = [n for n in lacking if math.isfinite(metrics[n].value)]
    if not lacking or not 1 < len(scored) <= _MOST_ROWS:
        return metrics
    side = scored.take(_sort_rows(scored)).only(recipe.keep)
    units = _group_units([side], recipe.joint)
    if len(units) < 2:
        return metrics
    drawn: dict[str, list[float]] = {name: [] for name in lacking}
    for (rows,) in _resample([side], units, recipe.joint, _count_resamples(len(side), ERROR_REDUCTIONS), SEED):
        try:
            found = recipe.reduce(rows, version)
        except Error:
            continue
        for name in lacking:
            if name in found:
                drawn[name].append(found[name].value)
    sizes = [len(unit) for unit in units]
    return {n: _add_error(number, drawn[n], sizes) if n in drawn else number for n, number in metrics.items()}


def _add_error(number: Estimate, drawn: Sequence[float], sizes: Sequence[int]) -> Estimate:
    values = np.array([value for value in drawn if math.isfinite(value)])
    if values.size < 2:
        return number
    return replace(number, stderr=float(values.std(ddof=1)), ci95=find_percentiles(values, sizes))


def _sort_rows(scored: Scored) -> Ints:
    """Sort rows by their id, so that the order of the file changes no draw."""
    return to_numpy(pc.sort_indices(scored.rows["id"].combine_chunks())).astype(np.int64)


def _count_resamples(rows: int, most: int) -> int:
    return min(most, max(_FEWEST, most * _ROWS // rows))


def _test_number(number: NumberDifference, moved: Sequence[float], sizes: Sequence[int]) -> NumberDifference:
    drawn = np.array([value for value in moved if math.isfinite(value)])
    why = explain_no_test(sum(sizes), len(sizes))
    if not drawn.size or not math.isfinite(number.value):
        return replace(number, why_no_p=why or "no resample has this number")
    p = compute_bootstrap_p(drawn, number.value, sizes)
    return replace(number, ci95=find_percentiles(drawn, sizes), p=p, resamples=int(drawn.size), why_no_p=why)


def _group_units(sides: Sequence[Scored], joint: Sequence[str]) -> list[Ints]:
    """Gather the rows that are drawn together: those that share a cluster or a value of a joint column."""
    count = len(sides[0])
    labels = np.arange(count)
    columns = [_number_values(s, name) for s in sides for name in (CLUSTER, *joint) if name in s.rows.column_names]
    while True:
        before = labels
        for codes in columns:
            lowest = np.full(int(codes.max(initial=0)) + 1, count)
            np.minimum.at(lowest, codes, labels)
            labels = lowest[codes]
        if np.array_equal(labels, before):
            break
    by_unit = np.argsort(labels, kind="stable")
    return np.split(by_unit, np.flatnonzero(np.diff(labels[by_unit])) + 1)


def _number_values(side: Scored, name: str) -> Ints:
    """Number the values of a column; rows without one are each alone."""
    codes = side.rows[name].combine_chunks().dictionary_encode().indices.cast(pa.int64())
    alone = from_numpy(np.arange(len(codes), 2 * len(codes), dtype=np.int64))
    return to_numpy(pc.coalesce(codes, alone))


def _resample(
    sides: Sequence[Scored], units: Sequence[Ints], joint: Sequence[str], times: int, seed: int
) -> Iterator[list[Scored]]:
    """Draw units again and again, the same ones for both sides."""
    draws = np.random.default_rng(seed)
    rows, sizes = np.concatenate(units), np.array([len(unit) for unit in units])
    starts = np.cumsum(sizes) - sizes
    sides = [replace(side, values_only=True) for side in sides]
    marked = [[(n, _number_values(s, n)) for n in (CLUSTER, *joint) if n in s.rows.column_names] for s in sides]
    for _ in range(times):
        drawn = draws.integers(0, len(units), size=len(units))
        copy = np.repeat(np.arange(len(units)), sizes[drawn])
        within = np.arange(len(copy)) - np.repeat(np.cumsum(sizes[drawn]) - sizes[drawn], sizes[drawn])
        taken = rows[np.repeat(starts[drawn], sizes[drawn]) + within]
        yield [_copy_unit(side.take(taken), taken, copy, columns) for side, columns in zip(sides, marked, strict=True)]


def _copy_unit(side: Scored, taken: Ints, copy: Ints, columns: Sequence[tuple[str, Ints]]) -> Scored:
    """Tell the copies of a unit apart in the columns that say what counts together."""
    for name, codes in columns:
        numbers = from_numpy(copy * (2 * len(codes)) + codes[taken])
        side = side.with_array(name, pc.if_else(pc.is_valid(side.rows[name]), numbers, _NO_NUMBER))
    return side
