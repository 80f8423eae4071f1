"""TSV and CSV, quoted as pandas' C reader does, without its guesses; a cell may be as large as a row may be.

A quote opens only at the start of a field; `""` inside is a quote; tabs and newlines may stand inside.
Records end at LF or CRLF and nothing else. Only an empty cell is missing: None, NA and null are texts. A `.csv` with
semicolons or tabs in place of commas, and UTF-16 with its mark, are read as what they are: see `table_files`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from io import BufferedReader
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import pybase64
from msgspec.structs import replace

from mmconvert.core.error_hints import add_hint
from mmconvert.core.errors import Error, RowError, quote_value, suggest_spelling
from mmconvert.core.rows import DELIMITERS, MOST_ROW_BYTES, Rejected, Row, Span, Where, build_encoding_error
from mmconvert.io import list_span_ends
from mmconvert.io.table_files import TableFile, open_table

BLOCK = 1 << 20
"""Bytes read at once: few calls, and rows are taken apart while they are still near the processor."""
MOST_COLUMNS = 10_000
"""Columns of a table or of its rows: each row is held whole, and every format looks at every name."""

CONTROL = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f]")
"""What stands in no text of a table: control characters but for tab and line ends."""

_SMALL_RECORD = 4096
_QUOTE, _CARRIAGE_RETURN = ord('"'), ord("\r")
# Possessive, so that a cell of quotes costs its length once.
_QUOTED = re.compile(rb'[^"]*+(?:""[^"]*+)*+"')

Cell = bytes | memoryview


class Window:
    """The bytes of a file available: one buffer that is read into again and again.

    Cells are views or copies of it; they are good until the next record is asked for.

    Attributes:
        data: The buffer.
        filled: How many bytes of it are the file's.
        at: Where the record available begins in it.
        offset: Where the buffer begins in the file.
        last: The file has no more.
        passes_blank: Blank lines are no records.
    """

    def __init__(self, file: BufferedReader) -> None:
        """Begin where the file stands."""
        self.file = file
        self.data, self.filled, self.at = bytearray(BLOCK), 0, 0
        self.offset = file.tell()
        self.last = self.passes_blank = False

    def find(self, what: bytes, start: int, end: int | None = None) -> int:
        """Give the place of bytes in the buffer, -1 without them."""
        return self.data.find(what, start, self.filled if end is None else end)

    def refill(self) -> None:
        """Move what is left to the front and read on; sets `last` at the end of the file."""
        carried = self.filled - self.at
        # A new buffer rather than a resized one: views of the old one may still be alive.
        most = max(MOST_ROW_BYTES, carried) + BLOCK
        target = self.data if 2 * carried <= len(self.data) else bytearray(min(4 * carried, most))
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
    """The record continues behind the bytes available; `quote` is where an open quote stands, or -1."""

    def __init__(self, quote: int = -1) -> None:
        super().__init__()
        self.quote = quote


def _split_plain_cells(window: Window, stop: int, delimiter: bytes) -> list[Cell]:
    """Split a record without quotes; large cells are not copied."""
    data, at = window.data, window.at
    if stop > at and data[stop - 1] == _CARRIAGE_RETURN:
        stop -= 1
    if stop - at < _SMALL_RECORD:
        return [*bytes(data[at:stop]).split(delimiter)]
    view = memoryview(data)
    cells: list[Cell] = []
    # A row of more cells is refused, whatever they are.
    while (end := data.find(delimiter, at, stop)) != -1 and len(cells) <= MOST_COLUMNS:
        cells.append(view[at:end])
        at = end + 1
    cells.append(view[at:stop])
    return cells


def _find_quoted_cells(window: Window, newline: int, delimiter: bytes) -> tuple[_Places, int, int]:
    """Find the cells of the record available, which holds a quote, where the next record begins, and its lines.

    Args:
        window: Its `at` is the record's.
        newline: The first line end behind it, -1 without one: the next one is looked for only behind it, because
            an image stands between many cells and the end of their line.
        delimiter: Stands between cells.

    Raises:
        _IncompleteError: The record continues behind the bytes available.
    """
    data, at, filled, last = window.data, window.at, window.filled, window.last
    places: _Places = []
    lines = 1
    while True:
        begin, close = at, -1
        if at < filled and data[at] == _QUOTE:
            quoted = _QUOTED.match(data, at + 1, filled)
            if quoted is None or (quoted.end() == filled and not last):
                raise _IncompleteError(at)
            at = quoted.end()
            close = at - 1
            # A match holds on to the buffer, which then could not grow.
            del quoted
            if -1 < newline < at:
                lines += data.count(b"\n", newline, at)
                newline = data.find(b"\n", at, filled)
        end = data.find(delimiter, at, newline if newline != -1 else filled)
        if end != -1:
            # A row of more cells is refused, whatever they are.
            if len(places) <= MOST_COLUMNS:
                places.append((begin, close, end))
            at = end + 1
            continue
        if newline == -1 and not last:
            raise _IncompleteError
        stop = newline if newline != -1 else filled
        places.append((begin, close, stop - (stop > at and data[stop - 1] == _CARRIAGE_RETURN)))
        return places, stop + 1, lines


def _split_quoted_cells(data: bytearray, places: _Places) -> list[Cell]:
    """Take a record apart; large cells without quotes are not copied."""
    view = memoryview(data)
    cells: list[Cell] = []
    for begin, close, end in places:
        if close != -1:
            cells.append(bytes(view[begin + 1 : close]).replace(b'""', b'"') + view[close + 1 : end])
        else:
            cells.append(view[begin:end] if end - begin >= _SMALL_RECORD else bytes(view[begin:end]))
    return cells


class RecordEnd(NamedTuple):
    """A record that begins at the `at` of its window: where it ends, its cells if it holds a quote, its first line."""

    stop: int
    places: _Places | None
    line: int


def find_records(window: Window, name: str, delimiter: bytes, line: int) -> Iterator[RecordEnd]:
    """Find one record after the other, none of them taken apart further than it needs.

    Args:
        window: Its `at` is the record's until the next one is asked for.
        name: What errors call the file.
        delimiter: Stands between cells.
        line: Physical line at which the window begins.

    Raises:
        Error: A quote never closes, or a record is larger than `MOST_ROW_BYTES`.
    """
    while True:
        if window.passes_blank and (blank := _BLANK_LINES.match(window.data, window.at, window.filled)):
            line += blank[0].count(b"\n")
            window.at = blank.end()
            # A match holds on to the buffer, which then could not grow.
            del blank
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
                places, following, lines = _find_quoted_cells(window, newline, delimiter)
            if following - window.at > MOST_ROW_BYTES:
                raise _build_row_error(name, line)
            yield RecordEnd(stop, places, line)
            line += lines
            window.at = following
        except _IncompleteError as incomplete:
            opened = line + window.data.count(b"\n", window.at, max(incomplete.quote, window.at))
            advice = "Close it, or double the quotes of the cell."
            if window.last:
                raise Error(f"{name}:{opened}: a quote opens here and never closes. {advice}") from None
            if window.filled - window.at > MOST_ROW_BYTES:
                limit = f"{MOST_ROW_BYTES >> 20} MiB"
                if incomplete.quote != -1:
                    raise Error(
                        f"{name}:{opened}: a quote opens here and does not close in {limit}. {advice}"
                    ) from None
                raise _build_row_error(name, line) from None
            window.refill()


def _build_row_error(name: str, line: int) -> Error:
    advice = "Give its images as files, or look for a line end that is missing."
    return Error(f"{name}:{line}: the row is larger than {MOST_ROW_BYTES >> 20} MiB. {advice}")


def read_records(window: Window, name: str, delimiter: bytes, line: int = 1) -> Iterator[tuple[list[Cell], int, int]]:
    """Yield (cells, first physical line, byte offset) of each record, as `find_records` finds them.

    A blank line gives one empty cell.
    """
    for stop, places, first in find_records(window, name, delimiter, line):
        if places is None:
            cells = _split_plain_cells(window, stop, delimiter)
        else:
            cells = _split_quoted_cells(window.data, places)
        yield cells, first, window.offset + window.at


Reader = Callable[[Cell], Any]
"""Gives the bytes that a cell holds as base64, or None to have it read as text; the cell is good for this call only."""

_BLANK_LINES = re.compile(rb"(?:\r?\n)++")
_BLANK = (b"", b"\r", b'""', b'""\r')
"""Records of one empty cell, their line end left out."""


def read_header(path: Path) -> list[str]:
    """Read the column names of a table.

    Raises:
        Error: The file is empty, not UTF-8 text, or names a column twice or not at all.
    """
    with open_table(path) as table:
        return _read_header(table, path)


def _read_header(table: TableFile, path: Path) -> list[str]:
    cells, _, _ = next(read_records(Window(table.file), path.name, table.delimiter), ([], 0, 0))
    return _read_names(cells, path)


def require(path: Path, names: Iterable[str]) -> None:
    """Refuse a table that lacks one of the columns; see `require_columns`."""
    require_columns(f"{path}:1", [(name,) for name in names], read_header(path))


def require_columns(place: str, choices: Iterable[Sequence[str]], found: Iterable[str]) -> None:
    """Refuse a table that lacks a column.

    Args:
        place: Where its header stands.
        choices: Columns that it must have, each as the names of which one is enough.
        found: Those that it has.

    Raises:
        Error: Some are missing; all of these and the columns there are named.

    Example:
        >>> require_columns("t:1", [("id",), ("image", "image_path")], ["idx", "image"])
        Traceback (most recent call last):
        mmconvert.core.errors.Error: t:1 id: there is no such column. Did you mean idx? Found: idx, image. Rename or
        add it.
    """
    found = list(found)
    missing = [names for names in choices if not any(name in found for name in names)]
    if missing:
        hint = suggest_spelling(missing[0][0], found)
        wanted = ", ".join(" or ".join(names) for names in missing)
        one = len(missing) == 1
        there, them = ("there is no such column", "it") if one else ("there are no such columns", "them")
        raise Error(f"{place} {wanted}: {there}.{hint} Found: {', '.join(found[:20])}. Rename or add {them}.")


def _read_names(cells: list[Cell], path: Path) -> list[str]:
    if len(cells) > MOST_COLUMNS + 1:  # a row is taken apart no further
        raise Error(f"{path}:1: has more than {MOST_COLUMNS:,} columns. Leave out what is not part of a sample.")
    try:
        names = [str(cell, "utf-8").strip() for cell in cells]
    except UnicodeDecodeError as error:
        raise Error(f"{path}:1: {add_hint('text.encoding', '', build_encoding_error(error).message)}") from None
    control = next((name for name in names if CONTROL.search(name)), None)
    if control is not None:
        raise Error(f"{path}:1: a control character is in the column {quote_value(control)}. Take it out.")
    if not any(names):
        raise Error(f"{path}:1: expected a header with column names. Write it as the first line.")
    check_names(f"{path}:1", names)
    return names


def check_names(place: str, names: Sequence[str]) -> None:
    """Refuse a header that names a column twice, or more columns than any table of samples has.

    Args:
        place: Where the header stands.
        names: Its columns.

    Raises:
        Error: It does.

    Example:
        >>> check_names("t.tsv:1", ["id", "answer", "id"])
        Traceback (most recent call last):
        mmconvert.core.errors.Error: t.tsv:1: the column 'id' appears twice. Rename one of them.
    """
    if len(names) > MOST_COLUMNS:
        raise Error(
            f"{place}: has {len(names):,} columns, more than {MOST_COLUMNS:,}. Leave out what is not part of a sample."
        )
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise Error(f"{place}: the column {quote_value(name)} appears twice. Rename one of them.")
        seen.add(name)


def rows(
    path: Path,
    span: Span | None = None,
    *,
    may_lack: Callable[[str], bool] | None = None,
    readers: Mapping[str, Reader] | None = None,
) -> Iterator[Row | Rejected]:
    """Read a TSV (or CSV, by suffix).

    Args:
        path: The file.
        span: Piece to read, None for all.
        may_lack: Tells the columns whose cells may be left out at the end of a record; None for none.
        readers: What reads the cells of a column by its name, which spares a text of each; None for none.

    Yields:
        A row for each record, cells as text, None for empty ones, or what their reader gave; `Rejected` for a
        record with a wrong number of cells or that is not UTF-8. Blank lines are passed over.

    Raises:
        Error: The file is empty or no UTF-8 text, its header is bad, a quote never closes, or a row is too large.
    """
    names = read_header(path)
    read = [(place, readers[name]) for place, name in enumerate(names) if name in readers] if readers else []
    with open_table(path) as table:
        number = span.row if span is not None else 0
        for cells, line, offset in _read_body(table, path, span, len(names) > 1):
            if len(cells) == 1 and cells[0] == b"" and len(names) > 1:
                continue  # a blank line
            where = Where(path.name, number, line, None if table.is_decoded else offset)
            number += 1
            try:
                yield Row(_build_fields(names, cells, may_lack, read), where)
            except RowError as error:
                yield replace(Rejected.of(error, where), **_list_readable_cells(names, cells, where, error))


def format_row(row: Row) -> Row:
    """Give a row of a table as it is written: what a reader decoded is base64 again.

    Rows of other files are left as they are.

    Example:
        >>> format_row(Row({"image": b"hi"}, Where("t.tsv", 0))).fields
        {'image': 'aGk='}
    """
    if Path(row.where.file).suffix.lower() not in DELIMITERS:
        return row
    texts = {n: pybase64.b64encode(v).decode() if isinstance(v, bytes) else v for n, v in row.fields.items()}
    return replace(row, fields=texts)


def _read_body(table: TableFile, path: Path, span: Span | None, several: bool) -> Iterator[tuple[list[Cell], int, int]]:
    """Yield the records behind the header, those of a span only."""
    if table.is_decoded:
        span = None
    if span is not None:
        table.file.seek(span.start)
    window = Window(table.file)
    records = read_records(window, path.name, table.delimiter, 1 if span is None else span.line)
    if span is None:
        next(records)
    window.passes_blank = several
    return records if span is None else takewhile(lambda record: record[2] < span.end, records)


def cut(path: Path, sizes: Sequence[int]) -> Iterator[Span]:
    """Cut a table into spans that begin with a record each.

    Where a record begins is known only by reading from the start, because a quoted cell may hold
    newlines; this takes about a fifteenth of what converting does. A table in UTF-16 is one span.

    Args:
        path: The file.
        sizes: Bytes of each span, from the file's beginning on, in order; the last one is that of all behind.

    Yields:
        Each span as soon as it is known where it begins; the last one is not looked at.

    Raises:
        Error: As `rows`.
    """
    several = len(read_header(path)) > 1
    with open_table(path) as table:
        window = Window(table.file)
        places = find_records(window, path.name, table.delimiter, 1)
        next(places)
        window.passes_blank = several
        ends, number = list_span_ends(sizes), 0
        if table.is_decoded:
            yield Span(0, next(ends))
            return
        end = 0
        for stop, _, line in places:
            if several and stop - window.at < 4 and bytes(window.data[window.at : stop]) in _BLANK:
                continue
            offset = window.offset + window.at
            if offset >= end:
                end = next(after for after in ends if after > offset)
                yield Span(offset, end, number, line)
                if end >= path.stat().st_size:
                    return
            number += 1


def read_row(path: Path, offset: int) -> dict[str, Any]:
    """Read the one record that begins at a byte offset, as found in `Where.offset`.

    Raises:
        RowError: The record has a wrong number of cells or is not UTF-8.
    """
    with open_table(path) as table:
        names = _read_header(table, path)
        table.file.seek(offset)
        cells, _, _ = next(read_records(Window(table.file), path.name, table.delimiter))
    return _build_fields(names, cells, None, ())


def _build_fields(
    names: list[str], cells: list[Cell], may_lack: Callable[[str], bool] | None, readers: Iterable[tuple[int, Reader]]
) -> dict[str, Any]:
    missing = names[len(cells) :]
    if len(cells) > len(names) or (missing and not (may_lack and all(map(may_lack, missing)))):
        found = f"more than {MOST_COLUMNS:,}" if len(cells) > MOST_COLUMNS else len(cells)
        counts = f"expected {len(names)} cells, found {found}"
        raise RowError("table.cells", "", f"{counts}. Check for a stray tab or newline, or quote the cell.")
    given = {}
    for place, read in readers:
        if place < len(cells) and (value := read(cells[place])) is not None:
            given[names[place]] = value
    try:
        fields: dict[str, Any] = {
            name: given[name] if name in given else str(cell, "utf-8") or None
            for name, cell in zip(names, cells, strict=False)
        }
    except UnicodeDecodeError:
        wrong = zip(names, map(_find_encoding_error, cells), strict=False)
        raise next(build_encoding_error(error, name) for name, error in wrong if error) from None
    fields.update(dict.fromkeys(missing))
    return fields


def _find_encoding_error(cell: Cell) -> UnicodeDecodeError | None:
    try:
        str(cell, "utf-8")
    except UnicodeDecodeError as error:
        return error
    return None


def _list_readable_cells(names: list[str], cells: list[Cell], where: Where, error: RowError) -> dict[str, Any]:
    """Give what `Rejected` keeps of a row with cells that are not UTF-8: the others, and the further ones."""
    if not error.field:
        return {}
    wrong = {name: found for name, cell in zip(names, cells, strict=False) if (found := _find_encoding_error(cell))}
    texts: dict[str, str | None] = dict.fromkeys(names)
    texts |= {name: str(cell, "utf-8") for name, cell in zip(names, cells, strict=False) if name not in wrong}
    others = [Rejected.of(build_encoding_error(found, name), where) for name, found in wrong.items()]
    return {"row": Row({name: text or None for name, text in texts.items()}, where), "others": tuple(others[1:])}


_TABLES = tuple(DELIMITERS)


def refuse_controls(row: Row) -> None:
    r"""Refuse a row of a table with a control character: no editor shows it, and programs end a text there.

    JSON spells such characters out (`\u0000`) and parquet has them in its own bytes; a table has them by accident.

    Raises:
        RowError: `text.control`.
    """
    for name, value in row.fields.items():
        # Nearly all texts are printable, which is told much faster than what else they hold.
        if isinstance(value, str) and not value.isprintable() and (found := CONTROL.search(value)):
            message = f"character {found.start() + 1:,} is the control character U+{ord(found[0]):04X}. Take it out."
            raise RowError("text.control", name, message)


@lru_cache
def is_table(file: str) -> bool:
    """Tell a text table by its name."""
    # All rows of a file ask for it.
    return file.lower().endswith(_TABLES)
