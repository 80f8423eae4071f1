"""A .jsonl file: JSON Lines, or one JSON array for all that its name says."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from mmconvert.core.rows import Rejected, Row, Span, Where
from mmconvert.io import json_array, json_lines
from mmconvert.io.json_lines import Block, parse_object
from mmconvert.storage.source_files import open_source

__all__ = ["cut", "is_array", "parse_object", "read_blocks", "rows"]

_BLOCK = 1 << 16


def is_array(path: Path) -> bool:
    """Tell one JSON array from JSON Lines."""
    with open_source(path) as file:
        block = file.read(_BLOCK).removeprefix(b"\xef\xbb\xbf")
        while block and block.isspace():
            block = file.read(_BLOCK)
    return block.lstrip()[:1] == b"["


def rows(path: Path, span: Span | None = None) -> Iterator[Row | Rejected]:
    """Read JSON Lines, or the elements of an array.

    Args:
        path: The file.
        span: Piece to read, None for all.

    Yields:
        A row for each JSON object, `Rejected` for any other non-blank line or element.

    Raises:
        Error: The file is empty or not UTF-8 text, or an array that is not whole.
    """
    return json_array.read_array(path, span) if is_array(path) else json_lines.rows(path, span)


def read_blocks(
    path: Path, span: Span | None, ends: Iterable[int], read_block: Callable[[bytes, Where], Block | None]
) -> Iterator[Row | Rejected | Block]:
    """Read JSON Lines, many at once where they can be; see `json_lines.read_blocks`."""
    return json_lines.read_blocks(path, span, ends, read_block)


def cut(path: Path, sizes: Sequence[int]) -> Iterator[Span]:
    """Cut a file into spans that begin with a line or an element of an array each.

    Args:
        path: The file.
        sizes: As for `json_lines.cut`.

    Raises:
        Error: The file is empty or no UTF-8 text, or an array that is not whole.
    """
    return json_array.cut(path, sizes) if is_array(path) else json_lines.cut(path, sizes)
