"""TSV and CSV, quoted as pandas' C reader does, without its guesses and without a cell limit.

A quote opens only at the start of a field; `""` inside is a quote; tabs and newlines may stand inside.
Records end at LF or CRLF and nothing else. Only an empty cell is missing: None, NA and null are texts.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from mmconvert.errors import Error, RowError, did_you_mean
from mmconvert.sources import Rejected, Row, Span, Where
from mmconvert.sources.jsonl import refuse_other_magic

BLOCK = 8 << 20
DELIMITERS = {".tsv": b"\t", ".csv": b","}


class _IncompleteError(Exception):
    """The record goes on behind the bytes at hand; `quote` is where an open quote stands, or -1."""

    def __init__(self, quote: int = -1) -> None:
        super().__init__()
        self.quote = quote


def _quoted_record(data: bytes, start: int, delimiter: bytes, last: bool) -> tuple[list[bytes], int]:
    """Split the record at `start` that holds a quote; give its cells and where the next one begins."""
    cells: list[bytes] = []
    at = start
    while True:
        prefix = b""
        if data[at : at + 1] == b'"':
            close = data.find(b'"', at + 1)
            while close != -1 and data[close + 1 : close + 2] == b'"':
                close = data.find(b'"', close + 2)
            if close == -1 or (close + 1 == len(data) and not last):
                raise _IncompleteError(at)
            prefix = data[at + 1 : close].replace(b'""', b'"')
            at = close + 1
        newline = data.find(b"\n", at)
        end = data.find(delimiter, at, newline if newline != -1 else len(data))
        if end != -1:
            cells.append(prefix + data[at:end])
            at = end + 1
            continue
        if newline == -1 and not last:
            raise _IncompleteError
        stop = newline if newline != -1 else len(data)
        cells.append(prefix + data[at:stop].removesuffix(b"\r"))
        return cells, stop + 1


def _records(file: IO[bytes], name: str, delimiter: bytes, limit: int | None) -> Iterator[tuple[list[bytes], int, int]]:
    """Yield (cells, first physical line, byte offset) of each record; a blank line gives one empty cell."""
    data, at, line, last = b"", 0, 1, False
    base = file.tell()
    left = limit
    while True:
        newline = data.find(b"\n", at)
        try:
            if newline == -1 and not last:
                raise _IncompleteError
            stop = newline if newline != -1 else len(data)
            if at >= len(data):
                return
            if data.find(b'"', at, stop) == -1:
                cells, following = data[at:stop].removesuffix(b"\r").split(delimiter), stop + 1
                lines = 1
            else:
                cells, following = _quoted_record(data, at, delimiter, last)
                lines = data.count(b"\n", at, following)
            yield cells, line, base + at
            line += lines
            at = following
        except _IncompleteError as incomplete:
            if last:
                opened = line + data.count(b"\n", at, max(incomplete.quote, at))
                raise Error(
                    f"{name}:{opened}: a quote opens here and never closes. Close it, or double the quotes of the cell."
                ) from None
            size = max(BLOCK, len(data) - at)
            block = file.read(size if left is None else min(size, left))
            last = not block
            if left is not None:
                left -= len(block)
            base += at
            data, at = data[at:] + block, 0


def _skip_bom(file: IO[bytes]) -> None:
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
    """Refuse a table that lacks one of the columns.

    Raises:
        Error: A column is missing; the columns there are named.
    """
    found = header(path)
    for name in names:
        require_any(path, (name,), found)


def require_any(path: Path, names: Sequence[str], found: Iterable[str]) -> None:
    """Refuse a table that has none of several columns.

    Raises:
        Error: All of them are missing; the columns there are named.
    """
    found = list(found)
    if not any(name in found for name in names):
        hint = did_you_mean(names[0], found)
        raise Error(f"{path}:1 {' or '.join(names)}: there is no such column.{hint} Found: {', '.join(found)}.")


def _names(cells: list[bytes], path: Path) -> list[str]:
    try:
        names = [cell.decode().strip() for cell in cells]
    except UnicodeDecodeError:
        raise Error(f"{path}:1: the header is not UTF-8. Save the file as UTF-8.") from None
    if not any(names):
        raise Error(f"{path}:1: expected a header with column names.")
    for name in names:
        if names.count(name) > 1:
            raise Error(f"{path}:1: the column {name!r} stands twice. Rename one of them.")
    return names


def rows(
    path: Path, span: Span | None = None, *, may_lack: Callable[[str], bool] | None = None
) -> Iterator[Row | Rejected]:
    """Read a TSV (or CSV, by suffix).

    Args:
        path: The file.
        span: Bytes to read, None for all; record and line numbers then count from the span's start.
        may_lack: Tells the columns whose cells may be left out at the end of a record; None for none.

    Yields:
        A row for each record, cells as text, None for empty ones; `Rejected` for a record with a wrong
        number of cells or that is not UTF-8. Blank lines are passed over.

    Raises:
        Error: The file is empty or no UTF-8 text, its header is bad, or a quote never closes.
    """
    names = header(path)
    delimiter = DELIMITERS.get(path.suffix.lower(), b"\t")
    with path.open("rb") as file:
        if span is not None and span.start:
            file.seek(span.start)
            records = _records(file, path.name, delimiter, span.end - span.start)
        else:
            _skip_bom(file)
            records = _records(file, path.name, delimiter, span.end if span else None)
            next(records)
        number = 0
        for cells, line, offset in records:
            if cells == [b""] and len(names) > 1:
                continue
            where = Where(path.name, number, line, offset)
            number += 1
            try:
                yield Row(_fields(names, cells, may_lack), where)
            except RowError as error:
                yield Rejected.of(error, where)


def row_at(path: Path, offset: int) -> dict[str, str | None]:
    """Read the one record that begins at a byte offset, as found in `Where.offset`.

    Raises:
        RowError: The record has a wrong number of cells or is not UTF-8.
    """
    names = header(path)
    with path.open("rb") as file:
        file.seek(offset)
        cells, _, _ = next(_records(file, path.name, DELIMITERS.get(path.suffix.lower(), b"\t"), None))
    return _fields(names, cells, None)


def _fields(names: list[str], cells: list[bytes], may_lack: Callable[[str], bool] | None) -> dict[str, str | None]:
    missing = names[len(cells) :]
    if len(cells) > len(names) or (missing and not (may_lack and all(map(may_lack, missing)))):
        raise RowError(
            "table.cells",
            "",
            f"expected {len(names)} cells, found {len(cells)}. Check for a stray tab or newline, or quote the cell.",
        )
    try:
        fields: dict[str, str | None] = {name: cell.decode() or None for name, cell in zip(names, cells, strict=False)}
    except UnicodeDecodeError as error:
        bad = next(n for n, cell in zip(names, cells, strict=False) if cell == error.object)
        raise RowError("text.encoding", bad, "the cell is not UTF-8. Save the file as UTF-8.") from None
    fields.update(dict.fromkeys(missing))
    return fields
