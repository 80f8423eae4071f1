"""Our numbers beside those that a framework itself wrote for the same file."""

import math
from collections.abc import Sequence

from mmconvert.io.number_files import flatten_table
from mmconvert.plugins.format import StatedNumbers
from mmscore.core.recipe import Metrics, Row

_LISTED = 5
_PLACES = 1e-4
"""Frameworks round to four places of a fraction, or two of a percent; pearson's r is of single precision."""


def compare_stated_numbers(
    stated: StatedNumbers, metrics: Metrics, table: Sequence[Row] = (), *, own: bool = False
) -> tuple[str, ...]:
    """Say which numbers differ from those that the framework gives.

    Args:
        stated: The framework's numbers.
        metrics: Ours; at least one.
        table: Our report in the framework's layout.
        own: The recipe follows no framework: where no name is in common, the first numbers are compared.

    Returns:
        One sentence a number, the first few; none where all that have the same name agree.

    Example:
        >>> from mmscore.core.estimates import Estimate
        >>> ours = {"accuracy": Estimate(0.43, 100)}
        >>> compare_stated_numbers(StatedNumbers("the file", {"accuracy": 0.5}), ours)
        ('the file says accuracy 0.5, mmscore computes 0.43',)
    """
    ours = {**flatten_table(table), **{name: estimate.value for name, estimate in metrics.items()}}
    shared = [(name, value, name, ours[name]) for name, value in stated.values.items() if name in ours]
    if own and not shared and stated.values:
        name, mine = next(iter(metrics)), next(iter(metrics.values())).value
        shared = [(*next(iter(stated.values.items())), name, mine)]
    notes = [
        f"{stated.source} says {theirs} {value:.6g}, mmscore computes {f'{name} ' if name != theirs else ''}{mine:.6g}"
        for theirs, value, name, mine in shared
        if not _agree(value, mine)
    ]
    more = [f"... and {len(notes) - _LISTED} more such numbers"] if len(notes) > _LISTED else []
    return (*notes[:_LISTED], *more)


def _agree(first: float, second: float) -> bool:
    """Tell whether two numbers are the same up to rounding, a fraction and its percents among them."""
    if math.isnan(first) or math.isnan(second):
        return math.isnan(first) and math.isnan(second)
    pairs = ((first, second), (first, second * 100), (first * 100, second))
    return any(math.isclose(*pair, rel_tol=_PLACES, abs_tol=_PLACES) for pair in pairs)
