"""Pairs of near texts among sketches: every pair whose Jaccard index reaches a limit.

Sets that share so much share one of their rarest members (prefix filtering: Chaudhuri, Ganti and Kaushik 2006), so only
those that do are compared.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mmconvert.curation.text_keys import SKETCHED

LEAST_SIMILARITY = 0.7
"""Jaccard index from which texts are near, by default: one word of twelve may differ."""
_AT_ONCE = 1 << 20
"""Pairs that are compared at a time."""


class Sketches:
    """Sketches of many texts in two arrays.

    Attributes:
        values: uint32, the hashes of all, one text after the other.
        starts: int64 of one more place than there are texts: where the hashes of each begin.
    """

    def __init__(self, values: Any, starts: Any) -> None:
        """Take them as they are."""
        self.values, self.starts = values, starts

    @classmethod
    def of(cls, sketches: Sequence[Any]) -> "Sketches":
        """Join sketches."""
        values = np.concatenate([np.empty(0, dtype=np.uint32), *sketches])
        return cls(values, np.cumsum([0, *map(len, sketches)], dtype=np.int64))

    def select(self, rows: Any) -> "Sketches":
        """Take some texts."""
        return Sketches(_spread(self, rows)[1], np.cumsum([0, *self.sizes[rows].tolist()], dtype=np.int64))

    def __len__(self) -> int:
        """Give the number of texts."""
        return len(self.starts) - 1

    @property
    def sizes(self) -> Any:
        """Hashes of each."""
        return np.diff(self.starts)

    @property
    def owners(self) -> Any:
        """The text of each hash."""
        return np.repeat(np.arange(len(self)), self.sizes)


class TextIndex:
    """Texts among which near ones are looked up."""

    def __init__(self, sketches: Sketches, least: float = LEAST_SIMILARITY) -> None:
        """Sort texts by their rarest hashes.

        Args:
            sketches: Those of the texts.
            least: Jaccard index from which two are near, above 0 and up to 1.
        """
        self._sketches, self._least = sketches, least
        self._known, self._counts = np.unique(sketches.values, return_counts=True)
        values, owners = self._take_rarest(sketches)
        order = np.argsort(values, kind="stable")
        self._rare, self._owners = values[order], owners[order]

    def _take_rarest(self, sketches: Sketches) -> tuple[Any, Any]:
        """Give the rarest hashes of each text, as many as near texts need share one of, and their texts."""
        values, owners, sizes = sketches.values, sketches.owners, sketches.sizes
        places = np.minimum(np.searchsorted(self._known, values), max(len(self._known) - 1, 0))
        known = self._known[places] == values if len(self._known) else np.zeros(len(values), dtype=bool)
        counts = np.where(known, self._counts[places] if len(self._known) else 0, 0)
        order = np.lexsort((values, counts, owners))
        rank = np.arange(len(values)) - np.repeat(sketches.starts[:-1], sizes)
        needed = sizes - np.ceil(self._least * sizes - 1e-9).astype(np.int64) + 1
        taken = order[rank < np.repeat(needed, sizes)]
        taken = taken[known[taken]]
        return values[taken], owners[taken]

    def find_near(self, sketches: Sketches) -> Iterator[tuple[Any, Any, Any]]:
        """Look up near ones of other texts.

        Yields:
            Positions among the asked ones, positions in the index, and the Jaccard index: arrays of one length; each
            pair once.
        """
        values, owners = self._take_rarest(sketches)
        begin = np.searchsorted(self._rare, values)
        count = np.searchsorted(self._rare, values, side="right") - begin
        last = np.flatnonzero(np.diff(owners, append=-1)) + 1
        ends = np.cumsum(count)
        start = 0
        while start < len(values):
            before = ends[start - 1] if start else 0
            full = np.searchsorted(ends, before + _AT_ONCE, side="right")
            end = int(last[min(np.searchsorted(last, max(full, start + 1)), len(last) - 1)])
            lengths = count[start:end]
            shifts = begin[start:end] - (np.cumsum(lengths) - lengths)
            rows = np.repeat(owners[start:end], lengths)
            others = self._owners[np.repeat(shifts, lengths) + np.arange(len(rows))]
            pairs = np.unique(rows * len(self._sketches) + others)
            yield self._verify(sketches, *np.divmod(pairs, max(len(self._sketches), 1)))
            start = end

    def _verify(self, sketches: Sketches, rows: Any, others: Any) -> tuple[Any, Any, Any]:
        sizes, other_sizes = sketches.sizes[rows], self._sketches.sizes[others]
        possible = np.minimum(sizes, other_sizes) >= self._least * np.maximum(sizes, other_sizes) - 1e-9
        rows, others = rows[possible], others[possible]
        likeness = np.concatenate(
            [np.empty(0)]
            + [
                compare(
                    sketches, rows[part : part + _AT_ONCE // 16], self._sketches, others[part : part + _AT_ONCE // 16]
                )
                for part in range(0, len(rows), _AT_ONCE // 16)
            ]
        )
        near = likeness >= self._least - 1e-9
        return rows[near], others[near], likeness[near]


def compare(one: Sketches, rows: Any, other: Sketches, others: Any) -> Any:
    """Give the Jaccard index of texts pair by pair; where a sketch is a sample, of the hashes that both cover.

    Args:
        one: Sketches of one side.
        rows: Positions in it.
        other: Sketches of the other side.
        others: Positions in it, as many.
    """
    limits = np.minimum(_find_limits(one, rows), _find_limits(other, others))
    pairs, values = _spread(one, rows)
    within = values <= limits[pairs]
    pairs, values = pairs[within], values[within]
    other_pairs, other_values = _spread(other, others)
    within = other_values <= limits[other_pairs]
    keys = other_pairs[within].astype(np.uint64) << np.uint64(32) | other_values[within]
    asked = pairs.astype(np.uint64) << np.uint64(32) | values
    shared = pairs[np.isin(asked, keys, assume_unique=True)]
    shared_count = np.bincount(shared, minlength=len(rows))
    both = np.bincount(pairs, minlength=len(rows)) + np.bincount(other_pairs[within], minlength=len(rows))
    union = both - shared_count
    return shared_count / np.where(union, union, 1)


def _find_limits(sketches: Sketches, rows: Any) -> Any:
    """Give the largest hash that each sketch covers: all for one that holds every hash of its text."""
    sizes = sketches.sizes[rows]
    whole = np.iinfo(np.uint32).max
    if not len(sketches.values):
        return np.full(len(rows), whole, dtype=np.uint32)
    last = sketches.values[np.maximum(sketches.starts[rows + 1] - 1, 0)]
    return np.where(sizes < SKETCHED, whole, last).astype(np.uint32)


def _spread(sketches: Sketches, rows: Any) -> tuple[Any, Any]:
    """Give the hashes of some texts, each with its place among them."""
    sizes = sketches.sizes[rows]
    pairs = np.repeat(np.arange(len(rows)), sizes)
    shifts = np.repeat(sketches.starts[rows] - (np.cumsum(sizes) - sizes), sizes)
    return pairs, sketches.values[shifts + np.arange(len(pairs))]
