"""Flat numbers of the nested columns of a batch: where the turns, parts, texts and images of each row are.

Everything is read from the buffers of the columns, so that no row becomes a Python object.
"""

import hashlib
import zlib
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mmconvert.core.arrow import list_texts, to_numpy
from mmconvert.curation.tallies import Hashes, Integers

IMAGE = "image"
"""Type of a part that stands for an image."""

_ROLE_BITS, _LENGTH_SHIFT = 0xFFFFFF, 2


class Texts(msgspec.Struct, frozen=True):
    """A column of texts as its bytes; null and "" are alike.

    Attributes:
        data: The bytes of all of them, one behind the other.
        ends: Where each begins in them, and where the last one ends.
        points: Their code points, None where all are ASCII and the bytes say it.
        point_ends: As `ends`, in characters.
    """

    data: npt.NDArray[np.uint8]
    ends: Integers
    points: npt.NDArray[np.uint32] | None
    point_ends: Integers

    @property
    def characters(self) -> npt.NDArray[Any]:
        """Code points of each character, or bytes where all are ASCII."""
        return self.data if self.points is None else self.points

    @property
    def lengths(self) -> Integers:
        """Characters of each text."""
        return np.diff(self.point_ends)


def read_texts(column: pa.Array) -> Texts:
    """Read a column of texts.

    Raises:
        UnicodeDecodeError: A text is not UTF-8.
    """
    count, start = len(column), column.offset
    _, offsets, values = column.buffers()
    if not count or offsets is None or values is None:
        nothing = np.zeros(count + 1, np.int64)
        return Texts(np.empty(0, np.uint8), nothing, None, nothing)
    wide = np.int64 if pa.types.is_large_string(column.type) else np.int32
    ends = np.frombuffer(offsets, wide, count=start + count + 1)[start:].astype(np.int64)
    data = np.frombuffer(values, np.uint8)[ends[0] : ends[-1]]
    ends -= ends[0]
    if not len(data) or data.max() < 128:
        return Texts(data, ends, None, ends)
    points = np.frombuffer(data.tobytes().decode().encode("utf-32-le"), np.uint32)
    # A character begins at every byte that continues none.
    begun = np.concatenate([[0], np.cumsum(data & 0xC0 != 0x80, dtype=np.int64)])
    return Texts(data, ends, points, begun[ends])


def read_list(column: pa.Array) -> tuple[Integers, pa.Array]:
    """Give where the items of each list begin, with the end of the last one, and all items; null is an empty list."""
    ends = to_numpy(column.offsets).astype(np.int64)
    return ends - ends[0], column.values.slice(int(ends[0]), int(ends[-1] - ends[0]))


class Turns(msgspec.Struct, frozen=True):
    """A column of conversations.

    Attributes:
        ends: Where the turns of each row begin, and where the last row ends.
        part_ends: Where the parts of each turn begin, and where the last turn ends.
        roles: Number of the role of each turn, in `role_names`.
        role_names: Roles that occur.
        is_image: Which parts stand for an image.
        texts: Text of each part.
    """

    ends: Integers
    part_ends: Integers
    roles: Integers
    role_names: list[str]
    is_image: npt.NDArray[np.bool_]
    texts: Texts

    @property
    def row_part_ends(self) -> Integers:
        """Where the parts of each row begin, and where the last row ends."""
        return self.part_ends[self.ends]

    def build_forms(self) -> Hashes:
        """Give a number for each part: role of its turn, whether it begins it, whether it is an image, its bytes."""
        codes = np.array([zlib.crc32(name.encode()) & _ROLE_BITS for name in self.role_names], np.uint64)
        counts = np.diff(self.part_ends)
        role = np.repeat(codes[self.roles] if len(codes) else np.empty(0, np.uint64), counts)
        first = np.zeros(len(self.is_image) + 1, np.uint64)
        first[self.part_ends[:-1]] = 1
        forms = np.diff(self.texts.ends).astype(np.uint64) << np.uint64(_LENGTH_SHIFT)
        forms |= role << np.uint64(40)
        forms |= first[:-1] << np.uint64(1)
        forms |= self.is_image.astype(np.uint64)
        return forms


def read_turns(column: pa.Array) -> Turns:
    """Read a column of conversations, as `messages` is one.

    Raises:
        UnicodeDecodeError: A text is not UTF-8.
    """
    ends, turns = read_list(column)
    part_ends, parts = read_list(turns.field("content"))
    names, roles = encode_texts(turns.field("role"))
    kinds, kind_of = encode_texts(parts.field("type"))
    is_image = kind_of == kinds.index(IMAGE) if IMAGE in kinds else np.zeros(len(kind_of), np.bool_)
    return Turns(ends, part_ends, roles, names, is_image, read_texts(parts.field("text")))


def encode_texts(column: pa.Array) -> tuple[list[str], Integers]:
    """Give the different texts of a column and which one each row has; null is ""."""
    import pyarrow.compute as pc  # takes longer to load than many a command runs

    from_arrow = pc.dictionary_encode(column, null_encoding="encode")
    names = [text or "" for text in list_texts(from_arrow.dictionary)]
    return names, to_numpy(from_arrow.indices).astype(np.int64)


def sum_within(values: npt.NDArray[Any], ends: Integers) -> Integers:
    """Add up the numbers between each two ends.

    Example:
        >>> sum_within(np.array([1, 2, 3]), np.array([0, 2, 2, 3]))
        array([3, 0, 3])
    """
    reached = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    summed: Integers = np.diff(reached[ends])
    return summed


def hash_rows(columns: Sequence[tuple[npt.NDArray[Any], Integers]]) -> Hashes:
    """Hash the bytes that several columns have of each row.

    Args:
        columns: Values of all rows of a column, and where each row begins in them, with the end of the last.

    Returns:
        8 bytes of BLAKE2b for each row.
    """
    views = [(memoryview(np.ascontiguousarray(values).data).cast("B"), (ends * values.itemsize).tolist())
             for values, ends in columns]  # fmt: skip
    digests = []
    for row in range(len(columns[0][1]) - 1):
        digest = hashlib.blake2b(digest_size=8)
        for view, ends in views:
            digest.update(view[ends[row] : ends[row + 1]])
        digests.append(digest.digest())
    return np.frombuffer(b"".join(digests), "<u8")


_HEX = np.zeros(256, np.uint64)
_HEX[[*b"0123456789abcdef"]] = range(16)
_DIGEST, _KEY = 64, 16


def read_digests(texts: Texts) -> Hashes:
    """Give the first 8 bytes of each SHA-256 digest; a text that is none is left out."""
    lengths = np.diff(texts.ends)
    starts = texts.ends[:-1][lengths == _DIGEST]
    digits = _HEX[texts.data[starts[:, np.newaxis] + np.arange(_KEY)]]
    keys = np.zeros(len(starts), np.uint64)
    for place in range(_KEY):
        keys = keys << np.uint64(4) | digits[:, place]
    return keys
