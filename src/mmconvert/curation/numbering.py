"""Images and texts of fingerprints under numbers, equal ones under one, with what near ones are found by."""

from typing import Any

import numpy as np
import pyarrow as pa

from mmconvert.core.arrow import to_numpy
from mmconvert.curation.fingerprints import read_hashes
from mmconvert.curation.near_texts import Sketches
from mmconvert.curation.perceptual import INSETS, SKETCH_BYTES

_VIEWS = len(INSETS)


class ImageNumbers:
    """Images numbered by their bytes, from 0 in the order in which they come."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known: dict[bytes | int, int] = {}
        self._hashed: list[Any] = [np.empty(0, dtype=np.int64)]
        self._bits: list[Any] = [np.empty((0, _VIEWS), dtype=np.uint64)]
        self._sketches: list[Any] = [np.empty((0, _VIEWS, SKETCH_BYTES), dtype=np.uint8)]

    def __len__(self) -> int:
        """Give how many images differ."""
        return len(self._known)

    def add(self, images: pa.StructArray) -> list[int]:
        """Number images.

        Args:
            images: Values of the column `images` of fingerprints, all lists joined.

        Returns:
            The number of each; an image without bytes is like no other.
        """
        before, known = len(self._known), self._known
        numbers = [
            known.setdefault(len(known) if digest is None else digest, len(known))
            for digest in images.field("sha256").to_pylist()
        ]
        hashed, bits, sketches = read_hashes(images)
        fresh, first = np.unique(np.array(numbers, dtype=np.int64)[hashed], return_index=True)
        new = fresh >= before
        self._hashed.append(fresh[new])
        self._bits.append(bits[first[new]])
        self._sketches.append(sketches[first[new]])
        return numbers

    def find(self, digest: bytes) -> int | None:
        """Give the number of an image by its sha256; None where there is none."""
        return self._known.get(digest)

    def list_digests(self) -> list[bytes | int]:
        """List the sha256 of each image in order; a number in the place of one without bytes."""
        return list(self._known)

    def join(self) -> tuple[Any, Any, Any]:
        """Give the numbers of the images that have hashes, their bits and their sketches.

        Returns:
            int64 of shape (n,), uint64 of shape (n, views), uint8 of shape (n, views, bytes).
        """
        return np.concatenate(self._hashed), np.concatenate(self._bits), np.concatenate(self._sketches)


class TextNumbers:
    """Texts numbered by their keys, from 0 in the order in which they come.

    Attributes:
        words: Number of words of each.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._known: dict[bytes, int] = {}
        self._sketches: list[Any] = []
        self.words: list[int] = []

    def __len__(self) -> int:
        """Give how many texts differ."""
        return len(self._known)

    def add(self, texts: pa.StructArray) -> list[int | None]:
        """Number texts.

        Args:
            texts: Values of the column `text`, or of `questions` with all lists joined.

        Returns:
            The number of each; None for none.
        """
        sketches = texts.field("sketch")
        values, bounds = to_numpy(sketches.values), to_numpy(sketches.offsets)
        numbers: list[int | None] = []
        for place, (key, words) in enumerate(
            zip(texts.field("key").to_pylist(), texts.field("words").to_pylist(), strict=True)
        ):
            number = None if key is None else self._known.setdefault(key, len(self._known))
            if number == len(self.words):
                self.words.append(words)
                self._sketches.append(values[bounds[place] : bounds[place + 1]].copy())
            numbers.append(number)
        return numbers

    def find(self, key: bytes) -> int | None:
        """Give the number of a text by its key; None where there is none."""
        return self._known.get(key)

    def list_keys(self) -> list[bytes]:
        """List the keys in order."""
        return list(self._known)

    def join(self) -> Sketches:
        """Give the sketches of all texts in order."""
        return Sketches.of(self._sketches)


def split_lists(column: pa.ChunkedArray, number: Any) -> list[list[int]]:
    """Number what stands in lists: each list as its numbers.

    Args:
        column: A column of lists.
        number: Numbers all values at once.
    """
    lists = column.combine_chunks()
    numbers, bounds = number(lists.flatten()), lists.offsets.to_pylist()
    return [numbers[bounds[row] - bounds[0] : bounds[row + 1] - bounds[0]] for row in range(len(lists))]
