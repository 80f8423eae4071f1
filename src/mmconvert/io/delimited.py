"""Where the records of delimited text begin and end, and their cells: what every reader of TSV and CSV goes by.

The rules are those of `mmconvert.io.tables`; names, texts and numbers of columns are its matter.
"""

from collections.abc import Iterator
from io import BufferedReader
from typing import NamedTuple

from mmconvert.core.errors import Error

BLOCK = 1 << 20
"""Bytes read at once: few calls, and rows are taken apart while they are still near the processor."""
_SMALL_RECORD = 4096
_QUOTE, _CARRIAGE_RETURN = ord('"'), ord("\r")

Cell = bytes | memoryview


class Window:
    """The bytes of a file at hand: one buffer that is read into again and again.

    Cells are views or copies of it; they are good until the next record is asked for.

    Attributes:
        data: The buffer.
        filled: How many bytes of it are the file's.
        at: Where the record at hand begins in it.
        offset: Where the buffer begins in the file.
        last: The file has no more.
    """

    def __init__(self, file: BufferedReader) -> None:
        """Begin where the file stands."""
        self.file = file
        self.data, self.filled, self.at = bytearray(BLOCK), 0, 0
        self.offset = file.tell()
        self.last = False

    def find(self, what: bytes, start: int, end: int | None = None) -> int:
        """Give the place of bytes in the buffer, -1 without them."""
        return self.data.find(what, start, self.filled if end is None else end)

    def refill(self) -> None:
        """Move what is left to the front and read on; sets `last` at the end of the file."""
        carried = self.filled - self.at
        # A new buffer rather than a resized one: views of the old one may still be alive.
        target = self.data if 2 * carried <= len(self.data) else bytearray(4 * carried)
        target[:carried] = self.data[self.at : self.filled]
        self.offset += self.at
        self.data, self.at = target, 0
        with memoryview(target) as view:
            count = self.file.readinto(view[carried:])
        self.filled = carried + count
        self.last = count == 0


_Places = list[tuple[int, int, int]]
"""For each cell of a record where it begins, where the quote it begins with closes (-1 without one), where it ends."""


class _IncompleteError(Exception):
    """The record goes on behind the bytes at hand; `quote` is where an open quote stands, or -1."""

    def __init__(self, quote: int = -1) -> None:
        super().__init__()
        self.quote = quote


def _plain_cells(window: Window, stop: int, delimiter: bytes) -> list[Cell]:
    """Split a record without quotes; large cells are not copied."""
    data, at = window.data, window.at
    if stop > at and data[stop - 1] == _CARRIAGE_RETURN:
        stop -= 1
    if stop - at < _SMALL_RECORD:
        return [*bytes(data[at:stop]).split(delimiter)]
    view = memoryview(data)
    cells: list[Cell] = []
    while (end := data.find(delimiter, at, stop)) != -1:
        cells.append(view[at:end])
        at = end + 1
    cells.append(view[at:stop])
    return cells


def _quoted_places(window: Window, newline: int, delimiter: bytes) -> tuple[_Places, int, int]:
    """Find the cells of the record at hand, which holds a quote, where the next record begins, and its lines.

    Args:
        window: Its `at` is the record's.
        newline: The first line end behind it, -1 without one: the next one is looked for only behind it, because
            a picture stands between many cells and the end of their line.
        delimiter: Stands between cells.

    Raises:
        _IncompleteError: The record goes on behind the bytes at hand.
    """
    data, at, filled, last = window.data, window.at, window.filled, window.last
    places: _Places = []
    lines = 1
    while True:
        begin, close = at, -1
        if at < filled and data[at] == _QUOTE:
            close = data.find(b'"', at + 1, filled)
            while close != -1 and close + 1 < filled and data[close + 1] == _QUOTE:
                close = data.find(b'"', close + 2, filled)
            if close == -1 or (close + 1 == filled and not last):
                raise _IncompleteError(at)
            at = close + 1
            while -1 < newline < at:
                newline = data.find(b"\n", newline + 1, filled)
                lines += 1
        end = data.find(delimiter, at, newline if newline != -1 else filled)
        if end != -1:
            places.append((begin, close, end))
            at = end + 1
            continue
        if newline == -1 and not last:
            raise _IncompleteError
        stop = newline if newline != -1 else filled
        places.append((begin, close, stop - (stop > at and data[stop - 1] == _CARRIAGE_RETURN)))
        return places, stop + 1, lines


def _quoted_cells(data: bytearray, places: _Places) -> list[Cell]:
    """Take a record apart; large cells without quotes are not copied."""
    view = memoryview(data)
    cells: list[Cell] = []
    for begin, close, end in places:
        if close != -1:
            cells.append(bytes(view[begin + 1 : close]).replace(b'""', b'"') + view[close + 1 : end])
        else:
            cells.append(view[begin:end] if end - begin >= _SMALL_RECORD else bytes(view[begin:end]))
    return cells


class Place(NamedTuple):
    """A record that begins at the `at` of its window: where it ends, its cells if it holds a quote, its first line."""

    stop: int
    places: _Places | None
    line: int


def record_places(window: Window, name: str, delimiter: bytes, line: int) -> Iterator[Place]:
    """Find one record after the other, none of them taken apart further than it needs.

    Args:
        window: Its `at` is the record's until the next one is asked for.
        name: What errors call the file.
        delimiter: Stands between cells.
        line: Physical line at which the window begins.

    Raises:
        Error: A quote never closes.
    """
    while True:
        newline = window.find(b"\n", window.at)
        try:
            if newline == -1 and not window.last:
                raise _IncompleteError
            stop = newline if newline != -1 else window.filled
            if window.at >= window.filled:
                return
            if window.find(b'"', window.at, stop) == -1:
                places, following, lines = None, stop + 1, 1
            else:
                places, following, lines = _quoted_places(window, newline, delimiter)
            yield Place(stop, places, line)
            line += lines
            window.at = following
        except _IncompleteError as incomplete:
            if window.last:
                opened = line + window.data.count(b"\n", window.at, max(incomplete.quote, window.at))
                raise Error(
                    f"{name}:{opened}: a quote opens here and never closes. Close it, or double the quotes of the cell."
                ) from None
            window.refill()


def records(window: Window, name: str, delimiter: bytes, line: int = 1) -> Iterator[tuple[list[Cell], int, int]]:
    """Yield (cells, first physical line, byte offset) of each record, as `record_places` finds them.

    A blank line gives one empty cell.
    """
    for stop, places, first in record_places(window, name, delimiter, line):
        cells = _plain_cells(window, stop, delimiter) if places is None else _quoted_cells(window.data, places)
        yield cells, first, window.offset + window.at
