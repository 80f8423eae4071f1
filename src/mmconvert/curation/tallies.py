"""Counts that parts of a dataset make apart and that add up to the same whole in any order.

All are exact and take memory by what differs, not by rows; `Keys`, which must hold every row, is exact up to a limit
and from there on a sample by hash, whose share of the whole is known.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

MOST_KEYS = 1 << 23
"""Keys that are held, of 8 bytes each: 8,388,608."""
MOST_VALUES = 10_000
"""Different texts whose rows are counted; a column with more of them is free text or a name a row."""

Integers = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]


class Bin(msgspec.Struct, frozen=True):
    """How many numbers lie between two bounds: whole numbers from `low` to `high`, others above `low` up to `high`."""

    low: float
    high: float
    count: int


class Spread(msgspec.Struct, frozen=True):
    """How numbers spread: exact quantiles, each the smallest value that so large a share does not exceed.

    Attributes:
        count: How many numbers.
        total: Their sum.
        min: The smallest, 0 where there is none, as all that follow.
        p5: Quantile 0.05, and so on.
        p25: Quantile 0.25.
        median: Quantile 0.5.
        p75: Quantile 0.75.
        p95: Quantile 0.95.
        p99: Quantile 0.99.
        max: The largest.
        mean: The arithmetic mean.
        bins: How many lie between which bounds, for a chart.
    """

    count: int
    total: float
    min: float
    p5: float
    p25: float
    median: float
    p75: float
    p95: float
    p99: float
    max: float
    mean: float
    bins: tuple[Bin, ...] = ()


_SHARES = {"p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95, "p99": 0.99}


def describe_spread(values: npt.NDArray[Any], counts: Integers, bounds: Sequence[float] | None = None) -> Spread:
    """Describe numbers by their quantiles.

    Args:
        values: Different numbers in ascending order.
        counts: How often each stands there, from 1.
        bounds: Upper bounds of the bins; what is larger comes into one more. None for bounds of the values' own.

    Example:
        >>> found = describe_spread(np.array([1, 2, 10]), np.array([1, 2, 1]), [2])
        >>> found.median, found.p95, found.mean, [(bin.low, bin.high, bin.count) for bin in found.bins]
        (2, 10, 3.75, [(1, 2, 3), (3, 10, 1)])
    """
    count = int(counts.sum())
    if not count:
        return Spread(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0)
    reached = np.cumsum(counts)
    # Whole numbers in between, so that 0.05 * 20 is the first of 20 and no rounding makes it the second.
    ranks = {name: -(-count * round(share * 100) // 100) for name, share in _SHARES.items()}
    quantiles: dict[str, Any] = {name: values[np.searchsorted(reached, rank)].item() for name, rank in ranks.items()}
    total = (values * counts).sum().item()
    bins = _count_bins(values, reached, bounds or _choose_bounds(values))
    low, high = values[0].item(), values[-1].item()
    return Spread(count, total, min=low, **quantiles, max=high, mean=total / count, bins=bins)


_FEW = 12
"""Bins of a chart."""


def _choose_bounds(values: npt.NDArray[Any]) -> list[float]:
    """Give a few values themselves, or powers of two."""
    if len(values) <= _FEW and values.dtype.kind == "i":
        return [*values[:-1].tolist()]
    top = max(int(values[-1]), 1).bit_length()
    first = max(0, top - _FEW + 1)
    powers = [float(1 << power) for power in range(first, top)]
    return powers if values.dtype.kind == "f" else [int(power) for power in powers]


def _count_bins(values: npt.NDArray[Any], reached: Integers, bounds: Sequence[float]) -> tuple[Bin, ...]:
    ends = np.searchsorted(values, bounds, side="right")
    below = np.concatenate([[0], reached])[np.append(ends, len(values))]
    counts = np.diff(below, prepend=0).tolist()
    step = 1 if values.dtype.kind == "i" else 0
    first, last = values[0].item(), values[-1].item()
    lows, highs = [first, *(bound + step for bound in bounds)], [*bounds, last]
    filled = [n for n, count in enumerate(counts) if count]
    return tuple(Bin(lows[n], highs[n], counts[n]) for n in range(filled[0], filled[-1] + 1))


def _no_integers() -> Integers:
    return np.empty(0, np.int64)


class Numbers(msgspec.Struct):
    """How often each whole number occurs."""

    values: Integers = msgspec.field(default_factory=_no_integers)
    counts: Integers = msgspec.field(default_factory=_no_integers)

    def add(self, numbers: npt.NDArray[Any]) -> None:
        """Count some numbers."""
        values, counts = np.unique(numbers, return_counts=True)
        self.merge(Numbers(values.astype(np.int64, copy=False), counts.astype(np.int64, copy=False)))

    def merge(self, other: "Numbers") -> None:
        """Add what another has counted."""
        if not len(self.values) or not len(other.values):
            longer = self if len(self.values) else other
            self.values, self.counts = longer.values, longer.counts
            return
        values, places = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        counts = np.zeros(len(values), np.int64)
        np.add.at(counts, places, np.concatenate([self.counts, other.counts]))
        self.values, self.counts = values, counts

    def describe(self, bounds: Sequence[float] | None = None) -> Spread:
        """Describe them; see `describe_spread`."""
        return describe_spread(self.values, self.counts, bounds)

    def count_above(self, limit: int) -> int:
        """Count those that are larger."""
        return int(self.counts[np.searchsorted(self.values, limit, side="right") :].sum())


class Values(msgspec.Struct):
    """How many rows have which text; given up where there are more than `MOST_VALUES` different ones."""

    counts: Counter[str] = msgspec.field(default_factory=Counter)
    too_many: bool = False

    def add(self, counts: dict[str, int]) -> None:
        """Count some texts."""
        if not self.too_many:
            self.counts.update(counts)
            if len(self.counts) > MOST_VALUES:
                self.too_many, self.counts = True, Counter()

    def merge(self, other: "Values") -> None:
        """Add what another has counted."""
        if other.too_many:
            self.too_many, self.counts = True, Counter()
        self.add(other.counts)

    def list_sorted(self) -> dict[str, int]:
        """Give the texts, the most frequent first, those of one count by name."""
        return dict(sorted(self.counts.items(), key=lambda pair: (-pair[1], pair[0])))


class Repeats(msgspec.Struct, frozen=True):
    """How often something stands there again.

    Attributes:
        count: How many there are.
        distinct: How many different ones.
        repeated: Those that stand somewhere before: `count` less `distinct`.
        in_several_splits: Different ones that stand in two splits or more.
        estimated: The three above are estimates from a sample by hash; there are more than `MOST_KEYS`.
    """

    count: int
    distinct: int
    repeated: int
    in_several_splits: int
    estimated: bool = False


class Keys(msgspec.Struct):
    """Hashes of 8 bytes by split, which tell whether something stands there twice.

    Of more than `MOST_KEYS` those are kept whose lowest `level` bits are zero: a fair sample of different things, with
    all that are equal to one of them. The level is the least that suffices for all of them together, so that it is the
    same however they were divided.
    """

    parts: dict[str, list[Hashes]] = msgspec.field(default_factory=dict)
    count: int = 0
    kept: int = 0
    level: int = 0

    def add(self, split: str, keys: Hashes) -> None:
        """Add the keys of some rows."""
        self.count += len(keys)
        self._keep(split, keys)
        self._thin(self.level)

    def merge(self, other: "Keys") -> None:
        """Add what another holds."""
        self.count += other.count
        self._thin(other.level)
        for split, parts in other.parts.items():
            for keys in parts:
                self._keep(split, keys)
        self._thin(self.level)

    def _keep(self, split: str, keys: Hashes) -> None:
        chosen = keys[keys & np.uint64((1 << self.level) - 1) == 0] if self.level else keys
        self.parts.setdefault(split, []).append(chosen)
        self.kept += len(chosen)

    def _thin(self, least: int) -> None:
        while self.level < least or self.kept > MOST_KEYS:
            self.level += 1
            mask = np.uint64((1 << self.level) - 1)
            self.parts = {name: [part[part & mask == 0] for part in parts] for name, parts in self.parts.items()}
            self.kept = sum(len(part) for parts in self.parts.values() for part in parts)

    def describe(self) -> Repeats:
        """Count what stands there again."""
        by_split = [np.unique(np.concatenate(parts)) for parts in self.parts.values()]
        if not by_split:
            return Repeats(0, 0, 0, 0)
        _, splits = np.unique(np.concatenate(by_split), return_counts=True)
        distinct, shared = len(splits) << self.level, int((splits > 1).sum()) << self.level
        repeated = self.count - distinct if not self.level else (self.kept - len(splits)) << self.level
        return Repeats(self.count, distinct, repeated, shared, estimated=self.level > 0)
