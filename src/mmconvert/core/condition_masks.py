"""Conditions over Arrow columns: the truths of a test of many rows at once, with SQL's third truth as null.

Each function gives what its test of one row gives, or None where columns cannot say it exactly; rows are asked then.
"""

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mmconvert.core.arrow import build_column, build_scalar, from_numpy, to_numpy
from mmconvert.core.lazy import LazyModule

if TYPE_CHECKING:  # takes as long to load as pyarrow, and most runs have no condition
    import pyarrow.compute as pc
else:
    pc = LazyModule("pyarrow.compute")

Columnar = Callable[..., pa.Array | None]
"""Arrays and scalars, the sides of a test -> its truths."""

_COMPARE = {
    operator.eq: "equal", operator.ne: "not_equal", operator.lt: "less",
    operator.le: "less_equal", operator.gt: "greater", operator.ge: "greater_equal",
}  # fmt: skip
_EXACT = 1 << 53
"""Whole numbers up to here are floats without loss."""


def build_truths(truths: Sequence[bool | None]) -> pa.Array:
    """Build a column of truths from those of rows."""
    known = np.array([truth is not None for truth in truths], np.bool_)
    return _join_truths(np.array([truth is True for truth in truths], np.bool_), known)


def _join_truths(values: npt.NDArray[np.bool_], known: npt.NDArray[np.bool_]) -> pa.Array:
    bits, valid = (pa.py_buffer(np.packbits(one, bitorder="little")) for one in (values, known))
    return pa.Array.from_buffers(pa.bool_(), len(values), [valid, bits])


def build_literal(value: str | bool | int | float) -> pa.Scalar | None:
    """Build a literal of a condition; None where Arrow would compare another one."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:  # half a character, as words of a command may hold one
            return None
        return build_scalar(value)
    if isinstance(value, bool):
        return build_scalar(value)
    if abs(value) > _EXACT:
        return None
    return build_scalar(value) if isinstance(value, int) else build_column([value], pa.float64())[0]


def compare_chain(signs: Sequence[Callable[[Any, Any], bool]]) -> Columnar:
    """Compare each side with the next one."""

    def compare(*sides: Any) -> pa.Array:
        truths = [
            getattr(pc, _COMPARE[sign])(*pair) for sign, pair in zip(signs, itertools.pairwise(sides), strict=True)
        ]
        return functools.reduce(pc.and_kleene, truths)

    return compare


def is_one_of(values: Sequence[Any]) -> Columnar:
    """Look for a value among literals."""
    literals = list(map(build_literal, values))

    def look_up(side: Any) -> pa.Array | None:
        if any(literal is None for literal in literals):
            return None
        return functools.reduce(pc.or_kleene, [pc.equal(side, literal) for literal in literals])

    return look_up


def lie_between(low: Any, high: Any) -> Columnar:
    """Look whether a value lies between two literals, both included."""
    literals = build_literal(low), build_literal(high)

    def compare(side: Any) -> pa.Array | None:
        if literals[0] is None or literals[1] is None:
            return None
        return pc.and_kleene(pc.less_equal(literals[0], side), pc.less_equal(side, literals[1]))

    return compare


def match_pattern(pattern: str) -> Columnar:
    """Match a pattern of `like` that has `%` at its ends alone."""
    inner = pattern.strip("%")
    starts, ends = not pattern.startswith("%"), not pattern.endswith("%")

    def match(side: Any) -> pa.Array | None:
        if "%" in inner or "_" in inner or build_literal(inner) is None:
            return None
        if starts and ends:
            return pc.equal(side, build_scalar(inner))
        if starts or ends:
            return (pc.starts_with if starts else pc.ends_with)(side, pattern=inner)
        return pc.match_substring(side, pattern=inner)

    return match


def find_text(text: str) -> Columnar:
    """Look for a part of a text or of a turn, or for an item of a list of texts."""

    def find(side: Any) -> pa.Array | None:
        if build_literal(text) is None:
            return None
        if pa.types.is_list(side.type) and pa.types.is_struct(side.type.value_type):
            return _find_in_turns(side, text)
        if pa.types.is_list(side.type):
            return _hold_any(pc.equal(side.flatten(), build_scalar(text)), count_items(side), side.is_valid())
        return pc.match_substring(side, pattern=text)

    return find


def _find_in_turns(column: pa.Array, text: str) -> pa.Array:
    contents = pc.struct_field(column.flatten(), "content")
    texts = pc.fill_null(pc.struct_field(contents.flatten(), "text"), build_scalar(""))
    counts = sum_items(count_items(contents), count_items(column))
    return _hold_any(pc.match_substring(texts, pattern=text), counts, None)


def _hold_any(truths: pa.Array, counts: npt.NDArray[np.int64], known: pa.Array | None) -> pa.Array:
    """Say of each list whether one of its items is true; unknown items are not."""
    found = sum_items(to_numpy(pc.fill_null(truths, build_scalar(False))), counts) > 0
    return _join_truths(found, np.ones(len(found), np.bool_) if known is None else to_numpy(known))


def count_items(column: pa.Array) -> npt.NDArray[np.int64]:
    """Count the items of each list, 0 for a missing one."""
    counts = pc.list_value_length(column)
    return to_numpy(pc.fill_null(counts, build_scalar(0)) if counts.null_count else counts).astype(np.int64)


def sum_items(values: npt.NDArray[Any], counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Add up the numbers of each list, all lists one behind the other."""
    reached = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    summed: npt.NDArray[np.int64] = np.diff(reached[np.concatenate([[0], np.cumsum(counts)])])
    return summed


def repeat_rows(side: pa.Array, counts: npt.NDArray[np.int64]) -> pa.Array:
    """Give the value of each row as often as it has images."""
    return side.take(from_numpy(np.repeat(np.arange(len(side)), counts)))


def hide_missing(truths: pa.Array, first: Any) -> pa.Array:
    """Make truths unknown where the first side of the test is missing."""
    if isinstance(first, pa.Scalar) or not first.null_count:
        return truths
    return pc.if_else(first.is_valid(), truths, pa.nulls(len(truths), pa.bool_()))


def join_images(truths: pa.Array, counts: npt.NDArray[np.int64], *, wins: bool) -> pa.Array:
    """Join the truths of a row's images by or (`wins` is True) or by and; a row without images is unknown."""
    unknown = to_numpy(truths.is_null())
    values = to_numpy(pc.fill_null(truths, build_scalar(False)))
    decided = sum_items((values == wins) & ~unknown, counts) > 0
    return _join_truths(decided == wins, decided | ((sum_items(unknown, counts) == 0) & (counts > 0)))
