"""The ratios by which a dataset is divided: `train=0.98,val=0.02`."""

import math

from mmconvert.core.errors import UsageError, show
from mmconvert.dataset.manifest import DEFAULT_CONFIG, check_names

_TINY = 1e-9
"""What a sum of ratios may be off by."""


def parse_ratios(text: str) -> dict[str, float]:
    """Read the ratios of splits; one without a number gets what the others leave of 1.

    Returns:
        Split -> its ratio, above 0 and together 1, in the order in which they stand.

    Raises:
        UsageError: There are fewer than two, one is no number above 0, a name is no split's or appears twice, or they
            do not add up to 1.

    Example:
        >>> parse_ratios("train=0.98, val=0.02")
        {'train': 0.98, 'val': 0.02}
        >>> parse_ratios("val=0.25,train")
        {'val': 0.25, 'train': 0.75}
    """
    given = [item.strip().partition("=") for item in text.split(",")]
    names = [name.strip() for name, _, _ in given]
    if len(names) < 2:
        raise UsageError(f"--split-ratio: expected two splits or more {show(text)}. Write train=0.98,val=0.02.")
    for name in names:
        check_names(DEFAULT_CONFIG, name)
        if names.count(name) > 1:
            raise UsageError(f"--split-ratio: the split {name!r} appears twice. Name each once.")
    ratios = [
        _parse_ratio(name, number) if equals else None for name, (_, equals, number) in zip(names, given, strict=True)
    ]
    total = math.fsum(ratio for ratio in ratios if ratio is not None)
    without = ratios.count(None)
    if without > 1:
        raise UsageError("--split-ratio: several splits have no number. One may go without, and gets the rest.")
    if without and total >= 1 - _TINY:
        rest = names[ratios.index(None)]
        raise UsageError(f"--split-ratio: the others add up to {total:g} and leave nothing for {rest!r}.")
    if not without and abs(total - 1) > _TINY:
        raise UsageError(f"--split-ratio: the ratios add up to {total:g}, not 1. Leave out one number for the rest.")
    return {name: round(1 - total, 12) if ratio is None else ratio for name, ratio in zip(names, ratios, strict=True)}


def _parse_ratio(name: str, text: str) -> float:
    try:
        ratio = float(text)
    except ValueError:
        ratio = 0.0
    if not 0 < ratio < 1:
        raise UsageError(f"--split-ratio: {name}: expected a number between 0 and 1 {show(text)}.")
    return ratio
