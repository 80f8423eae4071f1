"""Pairs of near images, found by pieces of their hashes and verified by their sketches.

The 64 bits of a hash are cut into 4 pieces of 16, the lowest frequencies first. Two hashes are compared where a piece
of one differs from the same piece of the other in two bits at most. So every pair that differs in 11 bits or fewer is
found (one of four pieces has at most two of them), and most pairs that differ in more.

Hashes whose pieces begin alike are compared together: with all that may be near to one of them, by one product of
matrices of their sketches. That is exact, as sketches are whole numbers, and it leaves so few pairs that the bits of
these are compared afterwards.
"""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from mmconvert.core.multiprocess import count_usable_cores
from mmconvert.curation.perceptual import measure_lengths, measure_likeness, unpack_sketches

MOST_BITS = 22
"""Bits of 64 in which near images may differ, by default."""
LEAST_LIKENESS = 0.88
"""Correlation of the roots of two sketches from which images are near."""
LEAST_SHAPE = 0.9
"""The same of their lowest coefficients."""
CLOSE_BITS, LEAST_CLOSE_SHAPE = 10, 0.85
"""Bits of 64 up to which hashes are close, and the correlation of lowest coefficients that is enough for these."""
ASKED_AT_ONCE = 1 << 18
"""Hashes that are looked up together; more of them begin alike than of few, so each takes less time."""
_PIECES, _PIECE_BITS, _PIECE_FLIPS = 4, 16, 2
_MOST_PAIRS = 1 << 22
"""Pairs of a block, which one thread compares."""
_LAID_OUT = 4096
"""Hashes that are laid out for products at a time: 2.4 MB, which stay in the processor's cache."""
_TILE = 16, 64
"""Shape of a product, too small for the library to call its own threads, of which each core would then have several."""
_ROUNDED = 1 - 1e-4
"""Correlations that were rounded otherwise are still above a limit times this."""
_BLOCK_COST, _ROW_COST = 20_000, 12
"""What a block takes, and each hash that is laid out for it, in the time that it takes to compare a pair (5 ns)."""
_ORDER = sorted(range(64), key=lambda place: (place // 8 + place % 8, place))
"""Places of an 8 x 8 corner by frequency."""

_Found = tuple[Any, Any, Any]


class _Hashes:
    """Hashes as they are compared.

    Attributes:
        bits: uint64 of shape (n,).
        roots: int8 of shape (n, 144).
        pieces: uint16 of shape (n, 4).
    """

    def __init__(self, bits: Any, sketches: Any) -> None:
        self.bits, self.roots = bits, unpack_sketches(sketches)
        single = np.unpackbits(bits.astype(">u8").view(np.uint8).reshape(-1, 8), axis=1)
        self.pieces = np.ascontiguousarray(np.packbits(single[:, _ORDER], axis=1)).view(">u2").astype(np.uint16)


class ImageIndex:
    """Hashes among which near ones are looked up."""

    def __init__(self, bits: Any, sketches: Any) -> None:
        """Sort hashes by their pieces.

        Args:
            bits: uint64 of shape (n,).
            sketches: uint8 of shape (n, `SKETCH_BYTES`).
        """
        self._known = _Hashes(bits, sketches)
        # A sketch without any coefficient is like none.
        lengths = np.maximum(measure_lengths(self._known.roots), 1)
        self._scales = 1 / (lengths * np.float32(LEAST_LIKENESS * _ROUNDED))
        self._orders = [np.argsort(self._known.pieces[:, piece], kind="stable") for piece in range(_PIECES)]

    def find_near(
        self, bits: Any, sketches: Any, most_bits: int = MOST_BITS, workers: int | None = None
    ) -> Iterator[_Found]:
        """Look up near ones of other hashes.

        Args:
            bits: uint64 of shape (m,).
            sketches: uint8 of shape (m, `SKETCH_BYTES`).
            most_bits: Bits of 64 in which they may differ.
            workers: Threads that compare; one per core where none is given.

        Yields:
            Positions among the asked ones, positions in the index, and bits that differ: arrays of one length; each
            pair once.
        """
        threads = workers or count_usable_cores()
        with ThreadPoolExecutor(threads) as pool:
            waiting: deque[tuple[int, Future[_Found]]] = deque()
            for first in range(0, len(bits) if len(self._orders[0]) else 0, ASKED_AT_ONCE):
                some = slice(first, first + ASKED_AT_ONCE)
                asked = _Hashes(bits[some], sketches[some])
                for block in self._list_blocks(asked.pieces):
                    waiting.append((first, pool.submit(self._compare, asked, most_bits, *block)))
                    if len(waiting) > 2 * threads:
                        yield from _take(waiting)
            while waiting:
                yield from _take(waiting)

    def _list_blocks(self, pieces: Any) -> Iterator[tuple[int, Any, Any]]:
        """List what is compared: a piece, positions among the asked ones, and all positions that may be near to one."""
        beginning = _choose_beginning(len(pieces), len(self._scales))
        values = np.arange((1 << beginning) + 1) << (_PIECE_BITS - beginning)
        flips = _list_flips(beginning)
        for piece, order in enumerate(self._orders):
            asked = np.argsort(pieces[:, piece], kind="stable")
            rows = np.searchsorted(pieces[asked, piece], values)
            starts = np.searchsorted(self._known.pieces[order, piece], values)
            for value in np.flatnonzero(np.diff(rows)).tolist():
                begin = starts[value ^ flips]
                lengths = starts[(value ^ flips) + 1] - begin
                places = np.repeat(begin - (np.cumsum(lengths) - lengths), lengths)
                if len(places):
                    others = order[places + np.arange(len(places))]
                    step = max(_MOST_PAIRS // len(others), 1)
                    for row in range(rows[value], rows[value + 1], step):
                        yield piece, asked[row : min(row + step, rows[value + 1])], others

    def _compare(self, asked: _Hashes, most_bits: int, piece: int, rows: Any, others: Any) -> _Found:
        found: list[_Found] = [(np.empty(0, dtype=np.int64),) * 3]
        height, width = _TILE
        ours = asked.roots.take(rows, axis=0)
        ours = ours / np.maximum(measure_lengths(ours), 1)[:, None]
        for place in range(0, len(others), _LAID_OUT):
            some = others[place : place + _LAID_OUT]
            roots = np.zeros((-(-len(some) // width), width, ours.shape[1]), dtype=np.float32)
            laid_out = roots.reshape(-1, ours.shape[1])[: len(some)]
            laid_out[:] = self._known.roots.take(some, axis=0)
            laid_out *= self._scales.take(some)[:, None]
            for row in range(0, len(rows), height):
                part = ours[row : row + height]
                hits = np.flatnonzero(roots @ part.T >= 1)
                if len(hits):
                    other, one = np.divmod(hits, len(part))
                    found.append(self._verify(asked, most_bits, piece, rows[row + one], some[other]))
        joined = [np.concatenate(side) for side in zip(*found, strict=True)]
        return joined[0], joined[1], joined[2]

    def _verify(self, asked: _Hashes, most_bits: int, piece: int, rows: Any, others: Any) -> _Found:
        bits = np.bitwise_count(asked.bits[rows] ^ self._known.bits[others])
        near = np.bitwise_count(asked.pieces[rows] ^ self._known.pieces[others]) <= _PIECE_FLIPS
        # What an earlier piece has found is given with that piece.
        kept = np.flatnonzero((bits <= most_bits) & near[:, piece] & ~near[:, :piece].any(axis=1))
        rows, others, bits = rows[kept], others[kept], bits[kept]
        likeness, shape = measure_likeness(asked.roots[rows], self._known.roots[others])
        least = np.where(bits <= CLOSE_BITS, LEAST_CLOSE_SHAPE, LEAST_SHAPE)
        near = (likeness >= LEAST_LIKENESS) & (shape >= least)
        return rows[near], others[near], bits[near].astype(np.int64)


def _take(waiting: "deque[tuple[int, Future[_Found]]]") -> Iterator[_Found]:
    """Wait for the block that was begun first."""
    first, future = waiting.popleft()
    rows, others, bits = future.result()
    if len(rows):
        yield rows + first, others, bits


def _choose_beginning(asked: int, known: int) -> int:
    """Choose how many bits of a piece those that are compared together have in common, for the least time."""

    def estimate(beginning: int) -> float:
        blocks = min(1 << beginning, asked)
        others = known * len(_list_flips(beginning)) / (1 << beginning)
        return blocks * (_BLOCK_COST + others * _ROW_COST) + asked * others

    return min(range(_PIECE_FLIPS, _PIECE_BITS + 1), key=estimate)


def _list_flips(size: int) -> Any:
    """List the numbers of so many bits that have two set at most."""
    return np.unique([1 << one | 1 << other for one in range(size) for other in range(one + 1)] + [0])
