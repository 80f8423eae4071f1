"""Perceptual hashes: numbers that change little where an image is encoded again, scaled, recoloured or cut a little.

An image is seen in several views: whole, and without a border, for one side of a comparison may be cut where the other
is not. Each view is 32 x 32 grey levels and their cosine transform, of which two things are kept:

- 64 bits by which near images are looked up; those of the whole image are ImageHash's `phash`: the lowest 8 x 8
  coefficients, each compared with their median;
- the lowest 12 x 12 coefficients without the mean as a sketch, the root of each in 4 bits, by which near images are
  verified: bits alone take plain pages of text, and smooth images, for each other.
"""

from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from mmconvert.images.verify import open_image

if TYPE_CHECKING:
    import PIL.Image

INSETS = (0.0, 0.025, 0.05)
"""Share of width and height that a view leaves out on each side; the first is the whole image."""
SKETCH_BYTES = 72
METHOD = "1"
"""Changes when the same image would be hashed otherwise: hashes of two methods cannot be compared."""
_GRID, _LOW, _SIDE = 32, 8, 12
_STEPS = 7
"""Steps of a root on either side of 0."""
_REDUCED = 256
"""Pixels of the longer side from which an image is decoded at a part of its size, where its format can."""
_FLAT = 2.0
"""Standard deviation of grey levels (0 to 255) below which an image is nearly flat: such images are all alike."""


class ImageHashes(msgspec.Struct, frozen=True):
    """What is kept of the views of an image, in the order of `INSETS`.

    Attributes:
        bits: uint64, one a view.
        sketches: uint8 of shape (views, `SKETCH_BYTES`).
    """

    bits: Any
    sketches: Any


def hash_image(data: bytes) -> ImageHashes | None:
    """Hash the views of an image, turned as its metadata says.

    Args:
        data: The image file.

    Returns:
        Its hashes; None for an image that is nearly flat.

    Raises:
        RowError: `image.too_large`, `image.decode`: the decoder refused it.
    """
    grids = _read_grids(data)
    if grids[0].std() < _FLAT:
        return None
    basis = _build_basis()
    coefficients = basis @ grids @ basis.T
    low = coefficients[:, :_LOW, :_LOW].reshape(len(grids), -1)
    bits = np.packbits(low > np.median(low, axis=1, keepdims=True), axis=1)
    return ImageHashes(bits.view(">u8").astype(np.uint64)[:, 0], _sketch(coefficients.reshape(len(grids), -1)))


def _sketch(coefficients: Any) -> Any:
    """Keep the roots of coefficients in 4 bits each, by the largest of them; the mean's place is 0."""
    roots = np.sign(coefficients) * np.sqrt(np.abs(coefficients))
    roots[:, 0] = 0
    largest = np.abs(roots).max(axis=1, keepdims=True)
    steps = (np.rint(roots / np.where(largest, largest, 1) * _STEPS) + 8).astype(np.uint8)
    return steps[:, ::2] << 4 | steps[:, 1::2]


def unpack_sketches(sketches: Any) -> Any:
    """Give the roots of sketches, -7 to 7.

    Args:
        sketches: uint8 of shape (n, `SKETCH_BYTES`).

    Returns:
        int8 of shape (n, 144).
    """
    roots = np.empty((len(sketches), 2 * SKETCH_BYTES), dtype=np.int8)
    roots[:, ::2], roots[:, 1::2] = sketches >> 4, sketches & 15
    roots -= 8
    return roots


_LOWEST = np.add.outer(np.arange(_LOW) * _SIDE, np.arange(_LOW)).ravel()
"""Places of the lowest 8 x 8 coefficients in a sketch."""


def measure_likeness(one: Any, other: Any) -> tuple[Any, Any]:
    """Compare sketches pair by pair.

    Args:
        one: Roots of sketches, int8 of shape (n, 144).
        other: The same.

    Returns:
        Two correlations a pair, up to 1: of the roots, in which details count, and of the lowest coefficients
        themselves, in which the large shapes do.

    Example:
        >>> page = unpack_sketches(np.arange(SKETCH_BYTES, dtype=np.uint8)[None])
        >>> [float(value.round(3)[0]) for value in measure_likeness(page, page)]
        [1.0, 1.0]
    """
    roots = one.astype(np.float32), other.astype(np.float32)
    shapes = [np.sign(side[:, _LOWEST]) * side[:, _LOWEST] ** 2 for side in roots]
    return _correlate(*roots), _correlate(*shapes)


def measure_lengths(roots: Any) -> Any:
    """Give the Euclidean lengths of roots: float32 of shape (n,)."""
    return np.sqrt(np.einsum("ij,ij->i", roots, roots, dtype=np.float32))


def _correlate(one: Any, other: Any) -> Any:
    product = np.einsum("ij,ij->i", one, other)
    length = np.sqrt(np.einsum("ij,ij->i", one, one) * np.einsum("ij,ij->i", other, other))
    return product / np.where(length, length, 1)


def _read_grids(data: bytes) -> Any:
    """Give the grey levels of each view, 32 x 32."""
    # Pillow takes time to load, and a dataset may have no image.
    from PIL.Image import Resampling
    from PIL.ImageOps import exif_transpose

    with open_image(data, copies=1, reduce=True) as image:
        scale = _REDUCED / max(image.size)
        if scale < 1:
            image.draft("L", (ceil(image.width * scale), ceil(image.height * scale)))
        grey = exif_transpose(_convert_to_grey(image))
        width, height = grey.size
        boxes = ((width * cut, height * cut, width * (1 - cut), height * (1 - cut)) for cut in INSETS)
        views = [grey.resize((_GRID, _GRID), Resampling.LANCZOS, box=box) for box in boxes]
    return np.stack([np.asarray(view, dtype=np.float64) for view in views])


def _convert_to_grey(image: "PIL.Image.Image") -> "PIL.Image.Image":
    """Give grey levels from 0 to 255; of 16 bits they are scaled, not cut off."""
    if image.mode.startswith("I;16"):
        return image.point(lambda value: value / 256).convert("L")
    return image.convert("L")


@lru_cache(maxsize=1)
def _build_basis() -> Any:
    """Give the lowest cosines over the places of a line, unscaled as in SciPy's `dct`."""
    places = 2 * np.arange(_GRID) + 1
    return 2 * np.cos(np.pi * np.arange(_SIDE)[:, None] * places / (2 * _GRID))
