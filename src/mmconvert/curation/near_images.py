"""Pairs of near images, found by pieces of their hashes and verified by their sketches.

The 64 bits of a hash are cut into 4 pieces of 16, the lowest frequencies first. Two hashes are compared where a piece
of one differs from the same piece of the other in two bits at most. So every pair that differs in 11 bits or fewer is
found (one of four pieces has at most two of them), and most pairs that differ in more.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mmconvert.curation.perceptual import measure_likeness

MOST_BITS = 22
"""Bits of 64 in which near images may differ, by default."""
LEAST_LIKENESS = 0.88
"""Correlation of the roots of two sketches from which images are near."""
LEAST_SHAPE = 0.85
"""The same of their lowest coefficients."""
_PIECES, _PIECE_BITS = 4, 16
_AT_ONCE = 1 << 21
"""Pairs that are compared at a time."""
_ASKED_AT_ONCE = 1 << 12
_ORDER = sorted(range(64), key=lambda place: (place // 8 + place % 8, place))
"""Places of an 8 x 8 corner by frequency."""
_FLIPS = np.unique([1 << one | 1 << other for one in range(_PIECE_BITS) for other in range(one + 1)] + [0]).astype(
    np.uint16
)


def _cut_pieces(bits: Any) -> Any:
    """Cut hashes into pieces: uint16 of shape (n, 4)."""
    single = np.unpackbits(bits.astype(">u8").view(np.uint8).reshape(-1, 8), axis=1)
    return np.ascontiguousarray(np.packbits(single[:, _ORDER], axis=1)).view(">u2").astype(np.uint16)


class ImageIndex:
    """Hashes among which near ones are looked up."""

    def __init__(self, bits: Any, sketches: Any) -> None:
        """Sort hashes by their pieces.

        Args:
            bits: uint64 of shape (n,).
            sketches: uint8 of shape (n, `SKETCH_BYTES`).
        """
        self._bits, self._sketches = bits, sketches
        pieces = _cut_pieces(bits)
        self._orders = [np.argsort(pieces[:, piece], kind="stable") for piece in range(_PIECES)]
        values = np.arange((1 << _PIECE_BITS) + 1)
        self._starts = [np.searchsorted(pieces[order, piece], values) for piece, order in enumerate(self._orders)]

    def find_near(self, bits: Any, sketches: Any, most_bits: int = MOST_BITS) -> Iterator[tuple[Any, Any, Any]]:
        """Look up near ones of other hashes.

        Args:
            bits: uint64 of shape (m,).
            sketches: uint8 of shape (m, `SKETCH_BYTES`).
            most_bits: Bits of 64 in which they may differ.

        Yields:
            Positions among the asked ones, positions in the index, and bits that differ: arrays of one length; each
            pair once.
        """
        for first in range(0, len(bits) if len(self._bits) else 0, _ASKED_AT_ONCE):
            some = slice(first, first + _ASKED_AT_ONCE)
            for rows, others, distances in self._find_some(bits[some], sketches[some], most_bits):
                yield rows + first, others, distances

    def _find_some(self, bits: Any, sketches: Any, most_bits: int) -> Iterator[tuple[Any, Any, Any]]:
        pieces = _cut_pieces(bits)
        begins, counts = zip(*(self._find_runs(pieces[:, piece], piece) for piece in range(_PIECES)), strict=True)
        begin, count = np.concatenate(begins, axis=1), np.concatenate(counts, axis=1)
        ends = np.cumsum(count.sum(axis=1))
        start = 0
        while start < len(bits):
            before = ends[start - 1] if start else 0
            end = max(start + 1, int(np.searchsorted(ends, before + _AT_ONCE, side="right")))
            yield self._compare(bits, sketches, most_bits, start, begin[start:end], count[start:end])
            start = end

    def _find_runs(self, pieces: Any, piece: int) -> tuple[Any, Any]:
        """Give begin and length of the runs of the index whose piece is near: shape (m, 137)."""
        values = (pieces[:, None] ^ _FLIPS).astype(np.int64)
        begin = self._starts[piece][values]
        return begin, self._starts[piece][values + 1] - begin

    def _compare(self, bits: Any, sketches: Any, most_bits: int, start: int, begin: Any, count: Any) -> Any:
        asked, found = [], []
        for piece in range(_PIECES):
            runs = slice(piece * len(_FLIPS), (piece + 1) * len(_FLIPS))
            lengths = count[:, runs].ravel()
            rows = np.repeat(np.arange(len(begin)), count[:, runs].sum(axis=1)) + start
            places = np.repeat(begin[:, runs].ravel() - (np.cumsum(lengths) - lengths), lengths)
            others = self._orders[piece][places + np.arange(len(rows))]
            near = np.bitwise_count(bits[rows] ^ self._bits[others]) <= most_bits
            asked.append(rows[near])
            found.append(others[near])
        pairs = np.unique(np.concatenate(asked) * len(self._bits) + np.concatenate(found))
        rows, others = np.divmod(pairs, len(self._bits))
        kept = np.zeros(len(rows), dtype=bool)
        for part in range(0, len(rows), 1 << 16):
            some = slice(part, part + (1 << 16))
            likeness, shape = measure_likeness(sketches[rows[some]], self._sketches[others[some]])
            kept[some] = (likeness >= LEAST_LIKENESS) & (shape >= LEAST_SHAPE)
        rows, others = rows[kept], others[kept]
        return rows, others, np.bitwise_count(bits[rows] ^ self._bits[others]).astype(np.int64)
