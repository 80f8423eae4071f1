"""How much memory the columns of a parquet file take when they are read, told by the headers of their pages.

The footer says what a column takes as it is encoded. A dictionary holds a text once that stands in every row, and a
page of zeros is packed into a few bytes, so that a small file may unfold to any size. The headers say what the pages
unfold to, and the reader holds them to it.

Source: apache/parquet-format, PageHeader in src/main/thrift/parquet.thrift.
"""

from collections.abc import Iterator
from io import BufferedReader
from typing import Any

import msgspec

from mmconvert.io.thrift import BadThriftError, CompactReader

MOST_PAGES = 200_000
"""Pages of one column in one row group: a page of few values is no better than none."""

_HEADER = 1 << 16
"""Bytes that are read for a header: statistics of the page may stand in it."""
_DICTIONARY_PAGE = 2
_HEADERS = {5: 2, 8: 4, 7: 2}
"""Field that describes a page of either version or a dictionary -> field of it that tells the encoding."""
_NAMING = (2, 8)
"""Encodings by a dictionary."""
_DEPTH = 4


class Page(msgspec.Struct, frozen=True):
    """A page of a column.

    Attributes:
        dictionary: It holds the values that others name.
        packed: Bytes in the file.
        unfolded: Bytes in memory.
        values: How many it holds, or names.
        naming: It names values of a dictionary.
    """

    dictionary: bool
    packed: int
    unfolded: int
    values: int
    naming: bool = False


class BadPageError(Exception):
    """The bytes are no header of a page."""


def list_pages(file: BufferedReader, start: int, size: int, values: int) -> Iterator[Page]:
    """Read the headers of the pages of a column chunk, and nothing between them.

    Args:
        file: The parquet file.
        start: Where the chunk begins.
        size: Its bytes.
        values: Values that it holds; none is looked for behind them.

    Raises:
        BadPageError: A header cannot be read, or there are too many of them.
    """
    at, end, found = start, start + size, 0
    no_fields: dict[int, Any] = {}
    for _ in range(MOST_PAGES):
        if at >= end or found >= values:
            return
        file.seek(at)
        header = CompactReader(file.read(min(_HEADER, end - at)) or b"")
        try:
            fields = header.read_struct(_DEPTH)
        except BadThriftError:
            raise BadPageError from None
        packed, unfolded = fields.get(3), fields.get(2)
        if not isinstance(packed, int) or not isinstance(unfolded, int) or packed < 0 or unfolded < 0:
            raise BadPageError
        dictionary = fields.get(1) == _DICTIONARY_PAGE
        key, about = next(((key, fields[key]) for key in _HEADERS if isinstance(fields.get(key), dict)), (7, no_fields))
        count = about.get(1)
        if not isinstance(count, int) or count < 0:
            count = 0
        yield Page(dictionary, packed, unfolded, count, about.get(_HEADERS[key]) in _NAMING and not dictionary)
        found += 0 if dictionary else count
        at += header.at + packed
    raise BadPageError


def find_most_bytes(pages: list[Page], rows: int, longest: int) -> int:
    """Give the most bytes that a number of rows in a row can take, of a column with one value a row.

    Args:
        pages: Those of the column.
        rows: How many rows.
        longest: Most bytes of a value of its dictionary.

    Example:
        >>> find_most_bytes([Page(True, 9, 90, 1), Page(False, 9, 4, 64), Page(False, 9, 5, 64)], 10, 90)
        909
    """
    data = [page for page in pages if not page.dictionary]
    most = held = between = first = 0
    for last, page in enumerate(data):
        held += page.unfolded
        # Rows reach into two pages when all that stands between these is less than they are.
        between += data[last - 1].values if last - 1 > first else 0
        while between > rows - 2 and first < last:
            held -= data[first].unfolded
            first += 1
            between -= data[first].values if first < last else 0
        most = max(most, held)
    return rows * longest + most
