"""TSV and CSV, quoted as pandas' C reader does, without its guesses and without a cell limit.

A quote opens only at the start of a field; `""` inside is a quote; tabs and newlines may stand inside.
Records end at LF or CRLF and nothing else. Only an empty cell is missing: None, NA and null are texts.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from typing import Any

import pybase64

from mmconvert.errors import Error, RowError, did_you_mean
from mmconvert.sources import Rejected, Row, Span, Where
from mmconvert.sources.jsonl import refuse_other_magic

BLOCK = 1 << 20
"""Bytes read at once: few calls, and rows are taken apart while they are still near the processor."""
_SMALL_RECORD = 4096
_QUOTE, _CARRIAGE_RETURN = ord('"'), ord("\r")

Cell = bytes | memoryview
Reader = Callable[[Cell], Any]
"""Gives the bytes that a cell holds as base64, or None to have it read as text; the cell is good for this call only."""

DELIMITERS = {".tsv": b"\t", ".csv": b","}


class _Window:
    """The bytes of a file at hand: one buffer that is read into again and again.

    Cells are views or copies of it; they are good until the next record is asked for.
    """

    def __init__(self, file: BufferedReader, limit: int | None) -> None:
        self.file, self.left = file, limit
        self.data, self.filled, self.at = bytearray(BLOCK), 0, 0
        self.offset = file.tell()
        self.last = False

    def find(self, what: bytes, start: int, end: int | None = None) -> int:
        return self.data.find(what, start, self.filled if end is None else end)

    def refill(self) -> None:
        """Move what is left to the front and read on; sets `last` at the end of the file."""
        carried = self.filled - self.at
        # A new buffer rather than a resized one: views of the old one may still be alive.
        target = self.data if 2 * carried <= len(self.data) else bytearray(4 * carried)
        target[:carried] = self.data[self.at : self.filled]
        self.offset += self.at
        self.data, self.at = target, 0
        room = len(target) - carried
        if self.left is not None:
            room = min(room, self.left)
        with memoryview(target) as view:
            count = self.file.readinto(view[carried : carried + room])
        self.filled = carried + count
        self.last = count == 0
        if self.left is not None:
            self.left -= count


class _IncompleteError(Exception):
    """The record goes on behind the bytes at hand; `quote` is where an open quote stands, or -1."""

    def __init__(self, quote: int = -1) -> None:
        super().__init__()
        self.quote = quote


def _plain_cells(window: _Window, stop: int, delimiter: bytes) -> list[Cell]:
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


def _quoted_cells(window: _Window, delimiter: bytes) -> tuple[list[Cell], int]:
    """Split the record at hand, which holds a quote; give its cells and where the next one begins."""
    data, at, filled, last = window.data, window.at, window.filled, window.last
    cells: list[Cell] = []
    while True:
        prefix = b""
        if at < filled and data[at] == _QUOTE:
            close = window.find(b'"', at + 1)
            while close != -1 and close + 1 < filled and data[close + 1] == _QUOTE:
                close = window.find(b'"', close + 2)
            if close == -1 or (close + 1 == filled and not last):
                raise _IncompleteError(at)
            prefix = bytes(data[at + 1 : close]).replace(b'""', b'"')
            at = close + 1
        newline = window.find(b"\n", at)
        end = window.find(delimiter, at, newline if newline != -1 else None)
        if end != -1:
            cells.append(prefix + data[at:end])
            at = end + 1
            continue
        if newline == -1 and not last:
            raise _IncompleteError
        stop = newline if newline != -1 else filled
        cells.append(prefix + bytes(data[at:stop]).removesuffix(b"\r"))
        return cells, stop + 1


def _lines(data: bytearray, start: int, end: int) -> int:
    """Count line ends; faster than `count`, which looks at every byte, where they are rare."""
    lines = 0
    while start := data.find(b"\n", start, end) + 1:
        lines += 1
    return lines


def _records(
    file: BufferedReader, name: str, delimiter: bytes, limit: int | None, line: int = 1
) -> Iterator[tuple[list[Cell], int, int]]:
    """Yield (cells, first physical line, byte offset) of each record; a blank line gives one empty cell."""
    window = _Window(file, limit)
    while True:
        newline = window.find(b"\n", window.at)
        try:
            if newline == -1 and not window.last:
                raise _IncompleteError
            stop = newline if newline != -1 else window.filled
            if window.at >= window.filled:
                return
            if window.find(b'"', window.at, stop) == -1:
                cells, following, lines = _plain_cells(window, stop, delimiter), stop + 1, 1
            else:
                cells, following = _quoted_cells(window, delimiter)
                lines = _lines(window.data, window.at, following)
            yield cells, line, window.offset + window.at
            line += lines
            window.at = following
        except _IncompleteError as incomplete:
            if window.last:
                opened = line + window.data.count(b"\n", window.at, max(incomplete.quote, window.at))
                raise Error(
                    f"{name}:{opened}: a quote opens here and never closes. Close it, or double the quotes of the cell."
                ) from None
            window.refill()


def _skip_bom(file: BufferedReader) -> None:
    file.seek(0)
    if file.read(3) != b"\xef\xbb\xbf":
        file.seek(0)


def header(path: Path) -> list[str]:
    """Read the column names of a table.

    Raises:
        Error: The file is empty, not UTF-8 text, or names a column twice or not at all.
    """
    delimiter = DELIMITERS.get(path.suffix.lower(), b"\t")
    with path.open("rb") as file:
        refuse_other_magic(file.read(4), path, "a table")
        _skip_bom(file)
        cells, _, _ = next(_records(file, path.name, delimiter, None), ([], 0, 0))
    return _names(cells, path)


def require(path: Path, names: Iterable[str]) -> None:
    """Refuse a table that lacks one of the columns; see `require_columns`."""
    require_columns(f"{path}:1", [(name,) for name in names], header(path))


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
        mmconvert.errors.Error: t:1 id: there is no such column. Did you mean idx? Found: idx, image. Rename or add it.
    """
    found = list(found)
    missing = [names for names in choices if not any(name in found for name in names)]
    if missing:
        hint = did_you_mean(missing[0][0], found)
        wanted = ", ".join(" or ".join(names) for names in missing)
        one = len(missing) == 1
        there, them = ("there is no such column", "it") if one else ("there are no such columns", "them")
        raise Error(f"{place} {wanted}: {there}.{hint} Found: {', '.join(found[:20])}. Rename or add {them}.")


def _names(cells: list[Cell], path: Path) -> list[str]:
    try:
        names = [str(cell, "utf-8").strip() for cell in cells]
    except UnicodeDecodeError:
        raise Error(f"{path}:1: the header is not UTF-8. Save the file as UTF-8.") from None
    if not any(names):
        raise Error(f"{path}:1: expected a header with column names. Write it as the first line.")
    for name in names:
        if names.count(name) > 1:
            raise Error(f"{path}:1: the column {name!r} stands twice. Rename one of them.")
    return names


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
        Error: The file is empty or no UTF-8 text, its header is bad, or a quote never closes.
    """
    names = header(path)
    read = [(place, readers[name]) for place, name in enumerate(names) if name in readers] if readers else []
    with path.open("rb") as file:
        number = span.row if span is not None else 0
        for cells, line, offset in _body(file, path, span):
            if _blank(cells, names):
                continue
            where = Where(path.name, number, line, offset)
            number += 1
            try:
                yield Row(_fields(names, cells, may_lack, read), where)
            except RowError as error:
                yield replace(Rejected.of(error, where), **_rest_of(names, cells, where, error))


def as_texts(row: Row) -> Row:
    """Give a row of a table as it is written: what a reader decoded is base64 again.

    Rows of other files are left as they are.

    Example:
        >>> as_texts(Row({"image": b"hi"}, Where("t.tsv", 0))).fields
        {'image': 'aGk='}
    """
    if Path(row.where.file).suffix.lower() not in DELIMITERS:
        return row
    return replace(row, fields={name: _written(value) for name, value in row.fields.items()})


def _written(value: Any) -> Any:
    return pybase64.b64encode(value).decode() if isinstance(value, bytes) else value


def _body(file: BufferedReader, path: Path, span: Span | None) -> Iterator[tuple[list[Cell], int, int]]:
    """Yield the records behind the header, those of a span only."""
    delimiter = DELIMITERS.get(path.suffix.lower(), b"\t")
    if span is None:
        _skip_bom(file)
        records = _records(file, path.name, delimiter, None)
        next(records)
    else:
        file.seek(span.start)
        records = _records(file, path.name, delimiter, span.end - span.start, span.line)
    return records


def _blank(cells: list[Cell], names: list[str]) -> bool:
    return len(cells) == 1 and cells[0] == b"" and len(names) > 1


def cut(path: Path, size: int) -> Iterator[Span]:
    """Cut a table into spans of about `size` bytes, each beginning with a record.

    Where a record begins is known only by reading from the start, because a quoted cell may hold
    newlines; reading costs a fraction of what converting does.

    Raises:
        Error: As `rows`.
    """
    names = header(path)
    with path.open("rb") as file:
        start, row, line = -1, 0, 1
        number = 0
        for cells, at_line, offset in _body(file, path, None):
            if _blank(cells, names):
                continue
            if start < 0:
                start, row, line = offset, number, at_line
            elif offset - start >= size:
                yield Span(start, offset, row, line)
                start, row, line = offset, number, at_line
            number += 1
    if start >= 0:
        yield Span(start, path.stat().st_size, row, line)


def row_at(path: Path, offset: int) -> dict[str, Any]:
    """Read the one record that begins at a byte offset, as found in `Where.offset`.

    Raises:
        RowError: The record has a wrong number of cells or is not UTF-8.
    """
    names = header(path)
    with path.open("rb") as file:
        file.seek(offset)
        cells, _, _ = next(_records(file, path.name, DELIMITERS.get(path.suffix.lower(), b"\t"), None))
    return _fields(names, cells, None, ())


def _fields(
    names: list[str],
    cells: list[Cell],
    may_lack: Callable[[str], bool] | None,
    readers: Iterable[tuple[int, Reader]],
) -> dict[str, Any]:
    missing = names[len(cells) :]
    if len(cells) > len(names) or (missing and not (may_lack and all(map(may_lack, missing)))):
        raise RowError(
            "table.cells",
            "",
            f"expected {len(names)} cells, found {len(cells)}. Check for a stray tab or newline, or quote the cell.",
        )
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
        bad = next(name for name, cell in zip(names, cells, strict=False) if _text(cell) is None)
        raise _not_utf8(bad) from None
    fields.update(dict.fromkeys(missing))
    return fields


def _not_utf8(name: str) -> RowError:
    return RowError("text.encoding", name, "the cell is not UTF-8. Save the file as UTF-8.")


def _text(cell: Cell) -> str | None:
    try:
        return str(cell, "utf-8")
    except UnicodeDecodeError:
        return None


def _rest_of(names: list[str], cells: list[Cell], where: Where, error: RowError) -> dict[str, Any]:
    """Give what `Rejected` keeps of a row with cells that are not UTF-8: the others, and the further ones."""
    if not error.field:
        return {}
    texts = dict.fromkeys(names) | {name: _text(cell) for name, cell in zip(names, cells, strict=False)}
    bad = [name for name, text in list(texts.items())[: len(cells)] if text is None]
    others = tuple(Rejected.of(_not_utf8(name), where) for name in bad if name != error.field)
    return {"row": Row({name: text or None for name, text in texts.items()}, where), "others": others}
