"""JSON Lines, whatever the file is called: one strict JSON object a line."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import Any, BinaryIO, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from mmconvert.core.errors import Error, RowError, show
from mmconvert.core.rows import MOST_ROW_BYTES, Rejected, Row, Span, Where, build_encoding_error, build_too_large_error
from mmconvert.core.text.json import parse_json
from mmconvert.io import list_span_ends
from mmconvert.storage.source_files import open_source

_LINE_END, _BLANK = ord("\n"), ord(" ")
"""Codes; white space and what no line of JSON begins with have one up to that of a blank."""
_PIECE = 1 << 17
_BUFFER = 1 << 20
_BLOCK = 1 << 17
"""Bytes of lines that are read at once."""
_FEW_LINES = 100
"""Lines of a block of `_BUFFER` bytes that are found one by one."""
_MOST_BETWEEN = 1 << 24
"""Bytes of lines that are read one by one before a block is tried again."""
_SHORT = 1 << 14
"""Longer lines mostly hold images, whose plain letters `json` passes over as fast."""
_BOM = b"\xef\xbb\xbf"
_UTF16 = "UTF-16 text"
_OTHER_MAGIC = {
    b"\xff\xfe": _UTF16,
    b"\xfe\xff": _UTF16,
    b"\x1f\x8b": "a gzip archive",
    b"PK\x03\x04": "a zip archive or spreadsheet",
    b"PAR1": "a parquet file",
    b"\xd0\xcf\x11\xe0": "an OLE file (an old or encrypted spreadsheet)",
}


Block = TypeVar("Block")

_decode, _encode = msgspec.json.Decoder().decode, msgspec.json.Encoder().encode


def refuse_other_magic(head: bytes, path: Path, expected: str) -> None:
    """Refuse a file whose first bytes belong to another kind of file.

    Raises:
        Error: The file is empty or is UTF-16, gzip, zip, parquet or OLE.
    """
    if not head:
        raise Error(f"{path}: the file is empty. Get it again, or leave it out.")
    for magic, kind in _OTHER_MAGIC.items():
        if head.startswith(magic):
            advice = "Convert or unpack it first."
            if kind is _UTF16:
                new = path.with_stem(f"{path.stem}-utf8")
                advice = f"Save it as UTF-8: iconv -f UTF-16 -t UTF-8 {quote(str(path))} > {quote(str(new))}"
            raise Error(f"{path}: expected {expected} in UTF-8, but this is {kind}. {advice}")


class _Cursor:
    """Where the next line begins: its byte, the number of its row, and how many lines stand before it."""

    def __init__(self, span: Span | None) -> None:
        self.at, self.row, self.line = (0, 0, 0) if span is None else (span.start, span.row, span.line - 1)


def rows(path: Path, span: Span | None = None) -> Iterator[Row | Rejected]:
    """Read JSON Lines.

    Args:
        path: The file.
        span: Piece to read, None for all.

    Yields:
        A row for each line that holds a JSON object, `Rejected` for any other non-blank line.

    Raises:
        Error: The file is empty or not UTF-8 text.
    """
    place = _Cursor(span)
    with open_source(path, _BUFFER) as file:
        refuse_other_magic(file.read(4), path, "JSON Lines")
        file.seek(place.at)
        yield from _read_lines(file, path.name, place, math.inf if span is None else span.end)


def read_blocks(
    path: Path, span: Span | None, ends: Iterable[int], read_block: Callable[[bytes, Where], Block | None]
) -> Iterator[Row | Rejected | Block]:
    """Read JSON Lines, many at once where they can be.

    Args:
        path: The file.
        span: Piece to read, None for all.
        ends: No block goes over one of these bytes; in order.
        read_block: (whole lines, place of the first) -> what they hold, None where each is to be read by itself.

    Yields:
        What `read_block` gives, and the rows of other lines, in the order of the file.

    Raises:
        Error: As `rows`.
    """
    place = _Cursor(span)
    end = math.inf if span is None else span.end
    bounds = chain(ends, [end])
    bound = next(bounds)
    stretch = 0
    with open_source(path, _BUFFER) as file:
        refuse_other_magic(file.read(4), path, "JSON Lines")
        while place.at < end:
            while bound <= place.at:
                bound = next(bounds)
            file.seek(place.at)
            block = file.read(_BLOCK)
            if not block:
                return
            if bound - place.at < len(block):
                # The line that begins before the bound is read to its end.
                block = block[: block.find(b"\n", max(0, int(bound) - place.at - 1)) + 1]
            block = block[: block.rfind(b"\n") + 1]
            found = read_block(block, Where(path.name, place.row, place.line + 1, place.at)) if block else None
            if found is None:
                # At least one line, which may be longer than a block; the more, the longer none was a block.
                stretch = min(_MOST_BETWEEN, max(2 * stretch, len(block), 1))
                yield from _read_lines(file, path.name, place, min(end, place.at + stretch), seek=True)
                continue
            stretch = 0
            yield found
            lines = block.count(b"\n")
            place.at, place.row, place.line = place.at + len(block), place.row + lines, place.line + lines


def _read_lines(
    file: BinaryIO, name: str, place: _Cursor, end: float, *, seek: bool = False
) -> Iterator[Row | Rejected]:
    """Read the lines that begin before a byte, one by one, and move the place on."""
    if seek:
        file.seek(place.at)
    at, number, line = place.at, place.row, place.line
    # A line of any length would be held whole, whatever is in it.
    while at < end and (raw := file.readline(MOST_ROW_BYTES + 1)):
        line += 1
        start, at = at, at + len(raw)
        row: Row | Rejected
        if len(raw) > MOST_ROW_BYTES:
            at += skip_line(file, raw)
            row = Rejected.of(build_too_large_error(at - start), Where(name, number, line, start))
        else:
            if line == 1:
                raw = raw.removeprefix(_BOM)
            if _is_blank(raw):
                blank = _read_blank_lines(file)
                at += len(blank)
                line += blank.count(b"\n")
                continue
            where = Where(name, number, line, start)
            try:
                row = Row(parse_object(raw), where)
            except RowError as error:
                row = Rejected.of(error, where)
        number += 1
        yield row
    place.at, place.row, place.line = at, number, line


def is_lines(path: Path) -> bool:
    """Tell JSON Lines from one JSON object: a line ends with an object, and the next one begins another.

    No line of one object does so: a comma would stand between the two. A first line that is larger than a row may be
    is not looked through.
    """
    with open_source(path, _BUFFER) as file:
        start = _skip_blanks(file, file.read(len(_BOM)).removeprefix(_BOM))
        if start[:1] != b"{":
            return False
        size, end = 0, b""
        line = start + file.readline(_BUFFER) if not start.endswith(b"\n") else start
        while line:
            size += len(line)
            end = line.rstrip()[-1:] or end
            if line.endswith(b"\n") or size > MOST_ROW_BYTES:
                break
            line = file.readline(_BUFFER)
        return line.endswith(b"\n") and end == b"}" and _skip_blanks(file, b"")[:1] == b"{"


def _skip_blanks(file: BinaryIO, block: bytes) -> bytes:
    """Give what stands behind the blanks that begin here, as much of its line as was read with them."""
    while _is_blank(block):
        block = file.readline(_BUFFER)
        if not block:
            break
    return block.lstrip()


def skip_line(file: BinaryIO, raw: bytes) -> int:
    """Pass over what is left of a line of which some was read; give the bytes that were left.

    Args:
        file: Stands behind what was read.
        raw: What was read, with the end of the line if it was.
    """
    passed = 0
    while not raw.endswith(b"\n") and (raw := file.readline(_BUFFER)):
        passed += len(raw)
    return passed


def _read_blank_lines(file: BinaryIO) -> bytes:
    """Read the blank lines available at once: a file may hold hundreds of millions of them."""
    peek = getattr(file, "peek", None)
    if peek is None:
        return b""
    ahead = peek()
    space = len(ahead) - len(ahead.lstrip())
    return file.read(ahead.rfind(b"\n", 0, space) + 1)


def _is_blank(raw: bytes) -> bool:
    return not raw or raw.isspace()


def cut(path: Path, sizes: Sequence[int]) -> Iterator[Span]:
    """Cut a file into spans that begin with a line each.

    Args:
        path: The file.
        sizes: Bytes of each span, from the file's beginning on, in order; the last one is that of all behind.

    Yields:
        Each span as soon as it is known where it begins; the last one is not looked at.

    Raises:
        Error: The file is empty or no UTF-8 text.
    """
    ends = list_span_ends(sizes)
    at = number = line = end = 0
    with open_source(path) as file:
        refuse_other_magic(file.read(4), path, "JSON Lines")
        file.seek(0)
        while block := file.read(_BUFFER) + file.readline(MOST_ROW_BYTES):
            left = skip_line(file, block)
            whole = not left and block.endswith(b"\n") and not block[:1].isspace()
            if at + len(block) <= end and whole and (lines := _count_lines(block)) is not None:
                at, number, line = at + len(block), number + lines, line + lines
                continue
            behind = at + len(block)
            for raw in BytesIO(block):
                line += 1
                start, at = at, at + len(raw)
                at += left if at == behind else 0
                if _is_blank(raw.removeprefix(_BOM) if line == 1 else raw):
                    continue
                if start >= end:
                    end = next(after for after in ends if after > start)
                    yield Span(start, end, number, line)
                    if end >= path.stat().st_size:
                        return
                number += 1


def _count_lines(block: bytes) -> int | None:
    """Count whole lines; None where one behind the first may be blank, so that each is to be looked at."""
    at, lines = block.find(b"\n"), 0
    # To find a few is several times as fast as to count, which looks at every byte by itself.
    while at >= 0 and lines < _FEW_LINES:
        if block[at + 1 : at + 2].isspace():
            return None
        at, lines = block.find(b"\n", at + 1), lines + 1
    return lines if at < 0 else _count_many_lines(np.frombuffer(block, np.uint8))


def _count_many_lines(codes: npt.NDArray[np.uint8]) -> int | None:
    lines = 0
    # Pieces that stay near the processor; each looks one byte further, for what stands behind its last line end.
    for start in range(0, len(codes), _PIECE):
        ends = codes[start : start + _PIECE] == _LINE_END
        behind = codes[start + 1 : start + _PIECE + 1]
        if (ends[: len(behind)] & (behind <= _BLANK)).any():
            return None
        lines += int(np.count_nonzero(ends))
    return lines


def parse_object(raw: bytes, *, nan: bool = False) -> dict[str, Any]:
    """Read one record: a strict JSON object in UTF-8.

    Args:
        raw: The object.
        nan: As for `parse_json`.

    Raises:
        RowError: `text.encoding`, `json.type`, or the codes of `parse_json`.

    Example:
        >>> parse_object(b'{"a": 1}')
        {'a': 1}
    """
    if len(raw) < _SHORT and (plain := _read_plain_object(raw)) is not None:
        return plain
    try:
        value = parse_json(raw.decode(), nan=nan)
    except UnicodeDecodeError as error:
        raise build_encoding_error(error) from None
    if not isinstance(value, dict):
        raise RowError("json.type", "", f"expected a JSON object {show(value)}.")
    return value


def _read_plain_object(raw: bytes) -> dict[str, Any] | None:
    """Read an object in which nothing is amiss, the fast way; None for all that wants a second look.

    A key that appears twice leaves quotes out when the object is written again, unless an escape stands for others.
    """
    try:
        value = _decode(raw)
        if type(value) is dict and b"\\u0022" not in raw and _encode(value).count(b'"') == raw.count(b'"'):
            return value
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
        pass
    return None
