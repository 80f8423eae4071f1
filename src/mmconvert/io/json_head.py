"""The head of a .json file: the first elements of an array, or one object with its lists cut short."""

from collections.abc import Iterator
from pathlib import Path

from mmconvert.core.rows import Rejected, Row, Where
from mmconvert.io import json_array, json_object
from mmconvert.io.json_array import cut
from mmconvert.io.json_lines import is_lines, refuse_other_magic
from mmconvert.storage.source_files import open_source

__all__ = ["cut", "is_object", "rows"]


def rows(path: Path) -> Iterator[Row | Rejected]:
    """Show what a JSON file holds, for guessing its format.

    Args:
        path: The file.

    Yields:
        The elements of an array, or lines; of an object one row, read up to and with its first list of objects.

    Raises:
        Error: The file is empty or damaged.
    """
    if is_object(path):
        yield Row(json_object.head(path), Where(path.name, 0))
    else:
        yield from json_array.rows(path)


def is_object(path: Path) -> bool:
    """Tell a file that holds one object from one that holds anything else.

    Raises:
        Error: The file is empty, or of another kind by its first bytes.
    """
    with open_source(path) as file:
        start = file.read(1 << 10)
    refuse_other_magic(start, path, "JSON")
    return start.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")[:1] == b"{" and not is_lines(path)
