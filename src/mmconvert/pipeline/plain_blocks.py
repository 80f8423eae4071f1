"""The plain conversations of a file, many at a time."""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from mmconvert.core.errors import RowError
from mmconvert.core.plain_chats import PlainBlock, PlainSource, build_chats
from mmconvert.core.record import Image
from mmconvert.core.rows import Rejected, Row, Span, Where
from mmconvert.images.loader import ImageLoader
from mmconvert.io import json_array, jsonl
from mmconvert.plugins.format import Format

_MOST_IMAGE_BYTES = 4 << 20
"""A block ends behind the image with which it has so many."""
_LINES, _ARRAYS = (".jsonl",), (".json", ".jsonl")


def has_blocks(path: Path, plugin: Format) -> bool:
    """Tell whether a file may hold plain conversations that its format can read in blocks."""
    plain, suffix = plugin.plain, path.suffix.lower()
    if plain is None or suffix not in _ARRAYS or (plain.rows, plain.records) != (plugin.rows, plugin.records):
        return False
    if jsonl.is_array(path):
        return plain.elements is not None
    return plain.lines is not None and suffix in _LINES


def read_blocks(
    path: Path, span: Span | None, ends: Iterable[int], plugin: Format, source: PlainSource, images: ImageLoader
) -> Iterator[Row | Rejected | PlainBlock]:
    """Read a file of which `has_blocks` is true, conversations behind each other that are plain as blocks.

    Args:
        path: The file.
        span: Piece to read, None for all.
        ends: No block goes over one of these bytes; in order.
        plugin: Its format.
        source: What its conversations share.
        images: Where their images lie.

    Yields:
        Blocks, and the rows of whatever is more than a plain conversation, or whose image is refused.

    Raises:
        Error: As the format's `rows`.
    """
    plain = plugin.plain
    if plain is None:
        return iter(())
    lines, elements = plain.lines, plain.elements

    def read_lines(raw: bytes, where: Where) -> PlainBlock | None:
        found = None if lines is None else lines(raw)
        return None if found is None else PlainBlock(where, build_chats(found, where.row, source))

    def read_elements(raw: bytes, where: Where) -> json_array.Found[PlainBlock] | None:
        found = None if elements is None else elements(raw)
        if found is None:
            return None
        chats = build_chats(found, where.row, source, _Loading(images))
        block = PlainBlock(where, chats, partial(json_array.find_element, raw))
        return json_array.Found(block, len(chats), len(chats) == len(found)) if chats else None

    if jsonl.is_array(path):
        return json_array.read_blocks(path, span, ends, read_elements)
    return jsonl.read_blocks(path, span, ends, read_lines)


class _Loading:
    """Loads images of a block up to a number of bytes, and none behind one that is refused."""

    def __init__(self, images: ImageLoader) -> None:
        self._images, self._left = images, _MOST_IMAGE_BYTES

    def __call__(self, path: str) -> Image | None:
        if self._left <= 0:
            return None
        try:
            image = self._images.of_value(path, 1)
        except RowError:
            return None
        if image.bytes is None:
            return None
        self._left -= len(image.bytes)
        return image
