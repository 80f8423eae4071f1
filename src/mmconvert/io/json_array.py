"""One JSON array of objects, read element by element.

The array itself must be whole: a cut file, a missing comma or text after the closing bracket refuse
the file. Elements are distinguished by their brackets and quotes alone and then read as strictly as a line
of JSON Lines, so that a bad one (a duplicate key, NaN, half a character) is refused and the others go on.
No more than one element and one block are held in memory.
"""

import math
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import Any, Generic, NamedTuple, NoReturn

from msgspec.structs import replace

from mmconvert.core.errors import Error, RowError, show
from mmconvert.core.rows import MOST_ROW_BYTES, Rejected, Row, Span, Where, build_encoding_error
from mmconvert.core.text.json import parse_json
from mmconvert.io import json_lines, list_span_ends
from mmconvert.io.json_lines import Block, parse_object, refuse_other_magic
from mmconvert.storage.source_files import open_source

BLOCK = 1 << 20
PACKED = "lists of rows are read row by row; which rows they packed into one sequence is not kept"
_DEEPEST = 1_000_000
"""Brackets inside each other that no reader follows; the element is not looked through any further."""

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
# What stands before the next bracket is passed over at once; a quote that never closes stops the search.
_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|' + _STRING + rb")*+([\[\]{}])", re.DOTALL)
_SCALAR = re.compile(_STRING + rb'|[^\s,\[\]{}"]++', re.DOTALL)
_SPACE = re.compile(rb"[ \t\r\n]*+")


def _match_nested(depth: int) -> bytes:
    inside = rb'[^"\[\]{}]++|' + _STRING + (b"|" + _match_nested(depth - 1) if depth else b"")
    return rb"[\[{](?:" + inside + rb")*+[\]}]"


_USUAL_DEPTH = 5
_NESTED = _match_nested(_USUAL_DEPTH)
_ELEMENT = re.compile(_SPACE.pattern + b"(" + _NESTED + b")" + _SPACE.pattern + b",", re.DOTALL)
"""An element with the comma behind it, as `JsonWindow.read_element` distinguishes it, if it is not nested deeper."""
_RUN = re.compile(b"((?:" + _SPACE.pattern + _NESTED + _SPACE.pattern + b",){1,16}+)", re.DOTALL)
"""Several of them behind each other."""


class JsonWindow:
    """The bytes available, and the line and the record number at `at`.

    Attributes:
        number: Index of the element that is read, for messages.
        held: Bytes of what whoever reads keeps, counted by it.
    """

    def __init__(self, file: BufferedReader, path: Path) -> None:
        self.file, self.path = file, path
        self.data, self.at, self.ended = b"", 0, False
        self.line, self.number, self.held = 1, 0, 0
        self._begins = 0

    @property
    def offset(self) -> int:
        """Byte of the file that is read next."""
        return self._begins + self.at

    def seek(self, span: Span) -> None:
        """Move to the first record of a piece of the file."""
        self.file.seek(span.start)
        self.data, self.at, self.ended = b"", 0, False
        self._begins, self.line, self.number = span.start, span.line, span.row

    def begin(self, expected: str) -> bytes:
        """Refuse other kinds of file, pass over a byte order mark and give the first byte, as `peek` does.

        Args:
            expected: What the file should be, for the message.

        Raises:
            Error: The file is of another kind, or empty.
        """
        refuse_other_magic(self.file.read(4), self.path, expected)
        self.file.seek(0)
        self.read_more()
        self.at = 3 if self.data.startswith(b"\xef\xbb\xbf") else 0
        return self.peek()

    def read_more(self) -> bool:
        """Drop what was read and read on, at least as much as is kept; tell whether there was more."""
        self._begins += self.at
        kept = self.data[self.at :]
        block = self.file.read(max(BLOCK, min(len(kept), MOST_ROW_BYTES)))
        self.data, self.at, self.ended = kept + block, 0, not block
        return not self.ended

    def move(self, end: int) -> None:
        """Move to `end` in the bytes available."""
        self.line += self.data.count(b"\n", self.at, end)
        self.at = end

    def advance(self, end: int) -> bytes:
        """Give the bytes up to `end` and move there."""
        passed = self.data[self.at : end]
        self.move(end)
        return passed

    def peek(self) -> bytes:
        """Move to the next byte that is no white space and give it; b"" at the end of the file."""
        while True:
            match = _SPACE.match(self.data, self.at)
            self.move(match.end() if match else self.at)
            if self.at < len(self.data) or not self.read_more():
                return self.data[self.at : self.at + 1]

    def read_element(self) -> bytes:
        """Give the element that begins here and move behind it."""
        while (end := self._find_element_end()) is None:
            self.refuse_large(len(self.data) - self.at)
            if not self.read_more():
                self.fail("the file ends inside this element; it was cut, or a quote or bracket never closes")
        self.refuse_large(end - self.at)
        return self.advance(end)

    def refuse_large(self, size: int) -> None:
        """Refuse the file for an element that is larger than rows are read."""
        if size > MOST_ROW_BYTES:
            self.fail(f"this value is larger than {MOST_ROW_BYTES >> 20} MiB", "Give its images as files.")

    def _find_element_end(self) -> int | None:
        """Find where the element ends, None when it continues behind the bytes available."""
        if self.data[self.at] not in b"[{":
            match = _SCALAR.match(self.data, self.at)
            # A number or a word may go on in the next block.
            return match.end() if match and (match.end() < len(self.data) or self.ended) else None
        depth, at = 0, self.at
        while match := _BRACKET.match(self.data, at):
            at = match.end()
            depth += 1 if match[1] in b"[{" else -1
            if depth > _DEEPEST:
                self.fail(f"this element is nested more than {_DEEPEST:,} deep", "Nest it less deeply.")
            if depth == 0:
                return at
        return None

    def fail(self, what: str, todo: str = "Get the whole file again, or repair it.") -> NoReturn:
        """Refuse the file at this place."""
        raise Error(f"{self.path}:{self.line}: {what} (element {self.number}). {todo}")


def rows(path: Path, span: Span | None = None, *, single: bool = False) -> Iterator[Row | Rejected]:
    """Read the elements of a JSON array, or JSON Lines in a file that is called .json.

    Args:
        path: The file.
        span: Piece to read, None for all.
        single: Take one object alone, too.

    Yields:
        A row for each element that is an object, `Rejected` for any other; see `read_elements`. The line is where
        the element begins.

    Raises:
        Error: The file is empty, neither one JSON array nor JSON Lines, or not whole.
    """
    return json_lines.rows(path, span) if json_lines.is_lines(path) else read_array(path, span, single=single)


def read_array(path: Path, span: Span | None = None, *, single: bool = False) -> Iterator[Row | Rejected]:
    """Read the elements of a JSON array, as `rows` gives them."""
    with open_source(path) as file:
        window = JsonWindow(file, path)
        first = window.begin("a JSON array")
        if single and first == b"{":
            yield from _read_single(window, path.name)
            return
        yield from _read_from(window, first, span, None)


class Found(NamedTuple, Generic[Block]):
    """What was made of elements at once, of how many, and whether these were all that were there."""

    block: Block
    elements: int
    whole: bool


class _BlockReader(NamedTuple, Generic[Block]):
    read: Callable[[bytes, Where], Found[Block] | None]
    ends: Iterator[float]


def read_blocks(
    path: Path, span: Span | None, ends: Iterable[int], read_block: Callable[[bytes, Where], Found[Block] | None]
) -> Iterator[Row | Rejected | Block]:
    """Read the elements of a JSON array, many at once where they can be.

    Args:
        path: The file.
        span: Piece to read, None for all.
        ends: No block goes over one of these bytes; in order.
        read_block: (elements with commas between them, place of the first) -> what they, or some from the first one
            on, hold; None where each is to be read by itself.

    Yields:
        What `read_block` gives, and the rows of other elements, in the order of the file.

    Raises:
        Error: As `read_array`.
    """
    with open_source(path) as file:
        window = JsonWindow(file, path)
        blocks = _BlockReader(read_block, chain(ends, [math.inf]))
        yield from _read_from(window, window.begin("a JSON array"), span, blocks)


def _read_from(
    window: JsonWindow, first: bytes, span: Span | None, blocks: _BlockReader[Block] | None
) -> Iterator[Row | Rejected | Block]:
    if first != b"[":
        raise Error(f"{window.path}: {_describe_no_array(first, window.data[window.at :])}")
    window.advance(window.at + 1)
    if span is not None and span.start > window.offset:
        window.seek(span)
    if window.peek() != b"]":
        end = math.inf if span is None else span.end
        yield from _read_elements(window, window.path.name, window.number, end, nan=False, blocks=blocks)
    if window.peek() == b"]":
        window.advance(window.at + 1)
        if window.peek():
            window.fail("something follows the closing bracket of the array", "Keep one array in the file.")


def cut(path: Path, sizes: Sequence[int]) -> Iterator[Span]:
    """Cut an array into spans that begin with an element each; one object stays whole.

    Where an element begins is known only by looking at all brackets and quotes before it, which takes less than reading
    what stands between them.

    Args:
        path: The file: an array, or JSON Lines in a file that is called .json.
        sizes: As for `json_lines.cut`.

    Yields:
        Each span as soon as it is known where it begins; the last one is not looked at.

    Raises:
        Error: The file is empty, or not whole up to the beginning of the last span.
    """
    if json_lines.is_lines(path):
        yield from json_lines.cut(path, sizes)
        return
    size, ends, end, row = path.stat().st_size, list_span_ends(sizes), 0, 0
    with open_source(path) as file:
        window = JsonWindow(file, path)
        array = window.begin("a JSON array") == b"["
        window.advance(window.at + 1)
        if not array or window.peek() == b"]":
            yield Span(0, size)
            return
        for offset, line, raw in _split_elements(window):
            if offset >= end:
                end = next(after for after in ends if after > offset)
                yield Span(offset, end, row, line)
                if end >= size:
                    return
            row += _count_rows(raw)


def _count_rows(raw: bytes) -> int:
    try:
        return len(_list_packed_rows(raw, nan=False)) or 1 if raw[:1] == b"[" else 1
    except RowError:
        return 1


def _read_single(window: JsonWindow, name: str) -> Iterator[Row | Rejected]:
    where = Where(name, 0, window.line)
    try:
        yield Row(parse_object(window.read_element()), where)
    except RowError as error:
        yield Rejected.of(error, where)
    if window.peek():
        window.fail("something follows the object", "Put several into one [...], or each of them on a line of its own.")


def read_elements(
    window: JsonWindow, name: str, number: int = 0, end: float = math.inf, *, nan: bool = False
) -> Iterator[Row | Rejected]:
    """Read the elements of an array that has any, from behind its opening bracket up to the closing one.

    An element that is a list of objects gives a row for each, as trainers write rows that they pack into one sequence.

    Args:
        window: Stands behind `[`; stands at `]` in the end, or at the element that begins at `end` or behind it.
        name: Bare file name.
        number: Of the first row.
        end: No element is read that begins at this byte of the file or behind it.
        nan: Read NaN and the infinities as null.

    Yields:
        A row for each element that is an object, `Rejected` for any other.

    Raises:
        Error: The array is not whole.
    """
    return _read_elements(window, name, number, end, nan=nan, blocks=None)


def _read_elements(
    window: JsonWindow, name: str, number: int, end: float, *, nan: bool, blocks: _BlockReader[Block] | None
) -> Iterator[Row | Rejected | Block]:
    remarks = [PACKED]
    for offset, line, raw in _split_elements(window, end, None if blocks is None else blocks.ends):
        where = Where(name, number, line, offset)
        if blocks is not None and raw[-1:] == b",":
            read, elements = yield from _read_run(raw, where, blocks.read, remarks)
            number += read
            window.number += elements - 1
            continue
        if blocks is not None and len(raw) <= BLOCK and (found := blocks.read(raw, where)) is not None:
            number += 1
            yield found.block
            continue
        rows = _read_element(raw, where, remarks, nan)
        number += len(rows)
        yield from rows


def _read_element(raw: bytes, where: Where, remarks: list[str], nan: bool) -> Sequence[Row | Rejected]:
    """Read the rows of an element, one in most; the first packed ones take the remark."""
    try:
        if raw[:1] == b"[" and (items := _list_packed_rows(raw, nan)):
            rows = [_read_packed_row(item, replace(where, row=at)) for at, item in enumerate(items, where.row)]
            first = next(at for at, row in enumerate(rows) if isinstance(row, Row))
            rows[first] = replace(rows[first], remarks=tuple(remarks))
            remarks.clear()
            return rows
        return (Row(parse_object(raw, nan=nan), where),)
    except RowError as error:
        return (Rejected.of(error, where),)


def _read_run(
    raw: bytes, where: Where, read_block: Callable[[bytes, Where], Found[Block] | None], remarks: list[str]
) -> Generator[Row | Rejected | Block, None, tuple[int, int]]:
    """Read elements with a comma behind each; return the number of rows and of elements."""
    elements, first = 0, where.row
    while raw and (found := read_block(raw[:-1], where)) is not None:
        yield found.block
        elements += found.elements
        if found.whole:
            return elements, elements
        passed = (behind := find_element(raw, where, found.elements)).offset or 0
        raw, where = raw[passed - (where.offset or 0) :], behind
    row, line, offset, at = where.row, where.line or 1, where.offset or 0, 0
    while match := _ELEMENT.match(raw, at):
        line += raw.count(b"\n", at, match.start(1))
        rows = _read_element(match[1], Where(where.file, row, line, offset + match.start(1)), remarks, nan=False)
        yield from rows
        row, elements = row + len(rows), elements + 1
        line += raw.count(b"\n", match.start(1), match.end())
        at = match.end()
    return row - first, elements


def find_element(raw: bytes, where: Where, count: int) -> Where:
    """Find an element among others with commas between them.

    Args:
        raw: The elements.
        where: Place of the first.
        count: How many stand in front of the one that is looked for.
    """
    at = 0
    for _ in range(count):
        match = _ELEMENT.match(raw, at)
        at = at if match is None else match.end()
    space = _SPACE.match(raw, at)
    at = at if space is None else space.end()
    line = None if where.line is None else where.line + raw.count(b"\n", 0, at)
    return Where(where.file, where.row + count, line, (where.offset or 0) + at)


def _split_elements(
    window: JsonWindow, end: float = math.inf, stops: Iterator[float] | None = None
) -> Iterator[tuple[int, int, bytes]]:
    """Give for each element the byte and the line where it begins, and its bytes; see `read_elements`.

    With `stops` several elements may come together, with a comma behind each, where none of these bytes is between
    them.
    """
    stop: float = 0
    while True:
        # Nearly every element is available as a whole: one look at it costs a fraction of one at each bracket.
        while window.offset < end and (match := _ELEMENT.match(window.data, window.at)):
            window.move(match.start(1))
            offset, line, raw = window.offset, window.line, match[1]
            if offset >= end:
                return
            if stops is not None:
                while stop <= offset:
                    stop = next(stops)
                run = _RUN.match(window.data, window.at)
                if run is not None and offset + len(run[1]) <= min(stop, end, offset + BLOCK):
                    match, raw = run, run[1]
            window.refuse_large(len(raw))
            window.move(match.end())
            yield offset, line, raw
            window.number += 1
        head = window.peek()
        if head in (b",", b"]", b"}"):
            window.fail(f"expected an element, found {head.decode()!r}")
        begins = window.offset, window.line
        if begins[0] >= end:
            return
        yield *begins, window.read_element() if head else window.fail("the file ends inside the array; it was cut")
        head = window.peek()
        if head == b"]":
            return
        if head != b",":
            window.fail("expected a comma or the closing bracket behind this element" if head else "the file was cut")
        window.advance(window.at + 1)
        window.number += 1


def _list_packed_rows(raw: bytes, nan: bool) -> list[Any]:
    """List what stands in a list, [] where no object does."""
    try:
        items = parse_json(raw.decode(), nan=nan)
    except UnicodeDecodeError as error:
        raise build_encoding_error(error) from None
    return items if any(isinstance(item, dict) for item in items) else []


def _read_packed_row(item: Any, where: Where) -> Row | Rejected:
    if isinstance(item, dict):
        return Row(item, where)
    return Rejected.of(RowError("json.type", "", f"expected a JSON object {show(item)}."), where)


def _describe_no_array(first: bytes, rest: bytes) -> str:
    if first == b"{":
        return (
            "expected a JSON array, this begins with an object. "
            "Put the objects into one [...], or each of them on a line of its own."
        )
    return f"expected a JSON array {show(rest[:80].decode(errors='replace'))}. Check that this is the right file."
