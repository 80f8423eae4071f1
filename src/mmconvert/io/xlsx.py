"""The first sheet of an xlsx workbook as rows of texts; a number gives the text a person would type.

The header is the first row that is not blank, blank rows are passed over, and only a blank cell is
missing. A formula, an error or a date in a column that is needed refuses the row: what stood there is
not what the file shows.
"""

import contextlib
import math
import re
from collections.abc import Callable, Container, Iterator
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from mmconvert.core.errors import Error, RowError, quote_value, show
from mmconvert.core.rows import Rejected, Row, Span, Where
from mmconvert.io.xlsx_cells import Workbook, XlsxCell, format_column, open_workbook

MAX_ROWS = 200_000
MAX_COLUMNS = 2_000
MAX_CHARACTERS = 1 << 28
"""Most characters of all cells: one shared text may stand in every cell."""

_FIRST_ROUNDED = 1 << 53
_DIGITS = len(f"-{_FIRST_ROUNDED}")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_REASONS = {
    "formula": "a formula is never evaluated {got}. Put the value itself into the cell.",
    "error": "the cell holds an error {got}. Put the value itself into the cell.",
    "date": "the spreadsheet made a date of it, the original text is lost {got}. Write it as text.",
}


def read_header(path: Path) -> list[str]:
    """Read the column names of the first sheet, white space around them cut.

    Raises:
        Error: The file is no workbook, its first sheet is empty, or a column is named twice; a formula or a date names
            none.
    """
    book = open_workbook(path)
    with contextlib.closing(book.rows()) as lines:
        return list(_read_names(book, next(lines, (0, []))[1]).values())


def list_sheets(path: Path) -> tuple[str, ...]:
    """Name the sheets of a workbook; only the first is read."""
    return open_workbook(path).sheets


def rows(
    path: Path,
    span: Span | None = None,
    *,
    needed: Callable[[str], bool] = lambda _: True,
    ids: Callable[[str], bool] = lambda _: False,
) -> Iterator[Row | Rejected]:
    """Read the rows behind the header.

    Args:
        path: The file.
        span: Not used; a workbook is not cut.
        needed: Tells the columns whose cells must be plain values. In other columns a formula, an error or
            a date is kept as its text. A cell in a column without a name is kept as `column K`.
        ids: Tells the columns of ids: a number there must be whole, and one that a spreadsheet keeps as it was typed.

    Yields:
        A row for each row that is not blank, cells as text, None for blank ones; `Rejected` for a row with
        a cell that is no plain value. Other sheets are named in the first row's remarks.

    Raises:
        Error: As `read_header`; or the sheet is damaged or larger than the limits.
    """
    book = open_workbook(path)
    # An error keeps the reader of lines alive for as long as anybody looks at it; the file is not to stay open.
    with contextlib.closing(book.rows()) as lines:
        names = _read_names(book, next(lines, (0, []))[1])
        counted, numbered = ({name for name in names.values() if tells(name)} for tells in (needed, ids))
        others = ", ".join(map(repr, islice(book.sheets, 1, 6)))
        remarks = (f"only the first sheet {book.sheets[0]!r} is read, not {others}",) if others else ()
        characters = 0
        for number, (line, cells) in enumerate(lines):
            if number >= MAX_ROWS:
                raise Error(f"{path}: holds more than {MAX_ROWS:,} rows. Save it as TSV.")
            characters += sum([len(cell.text) for cell in cells])
            if characters > MAX_CHARACTERS:
                raise Error(f"{path}:{line}: holds more than {MAX_CHARACTERS:,} characters. Save it as TSV.")
            where = Where(path.name, number, line)
            fields, errors = _build_fields(names, cells, counted, numbered, book.epoch_1904)
            if errors:
                first, *more = (Rejected.of(error, where) for error in errors)
                yield replace(first, row=Row(fields, where), others=tuple(more))
            else:
                yield Row(fields, where, remarks)
                remarks = ()


def format_number(text: str) -> str:
    """Write a number the way a person would: whole numbers without a point.

    Raises:
        ValueError: It is not a number.

    Example:
        >>> format_number("3.0"), format_number("3.50"), format_number("1E3"), format_number("12345678901234567890")
        ('3', '3.5', '1000', '12345678901234567890')
    """
    if _WHOLE.fullmatch(text):
        digits = text.lstrip("+-").lstrip("0") or "0"
        return f"-{digits}" if text[0] == "-" and digits != "0" else digits
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return str(int(value)) if value.is_integer() and abs(value) < _FIRST_ROUNDED else repr(value)


def _read_names(book: Workbook, cells: list[XlsxCell]) -> dict[int, str]:
    where = f"{book.path} sheet {book.sheets[0]!r}"
    if not cells:
        raise Error(f"{where}: is empty. Expected a header with column names.")
    if cells[-1].column >= MAX_COLUMNS:
        raise Error(f"{where}: has more than {MAX_COLUMNS:,} columns. Save it as TSV.")
    names: dict[int, str] = {}
    seen: set[str] = set()
    plain = [cell for cell in cells if cell.kind not in _REASONS]
    if not plain:
        raise Error(f"{where}: the header holds a {cells[0].kind} {show(cells[0].text)}. Write the name as text.")
    for cell in plain:
        name = cell.text.strip()
        if name in seen:
            raise Error(f"{where}: the column {quote_value(name)} appears twice. Rename one of them.")
        if name:
            names[cell.column] = name
            seen.add(name)
    return names


def _build_fields(
    names: dict[int, str], cells: list[XlsxCell], counted: Container[str], numbered: Container[str], epoch_1904: bool
) -> tuple[dict[str, str | None], list[RowError]]:
    """Give the cells by name, and why some cannot be read."""
    fields: dict[str, str | None] = dict.fromkeys(names.values())
    errors: list[RowError] = []
    for cell in cells:
        name = names.get(cell.column) or f"column {format_column(cell.column)}"
        try:
            if fields.get(name) is not None:
                raise RowError("cell.twice", name, "the cell appears twice in the file. Save it again.")
            if cell.kind == "text":
                fields[name] = cell.text
            else:
                text = _format_cell(cell, name, cell.column in names and name in counted, epoch_1904)
                if name in numbered:
                    _require_exact(text, name)
                fields[name] = text
        except RowError as error:
            errors.append(error)
    if errors:
        fields.update(dict.fromkeys(error.field for error in errors))
    return fields, errors


def _format_cell(cell: XlsxCell, name: str, counts: bool, epoch_1904: bool) -> str:
    if counts and cell.kind in _REASONS:
        raise RowError(f"cell.{cell.kind}", name, _REASONS[cell.kind].format(got=show(cell.text)))
    try:
        if cell.kind == "number":
            return format_number(cell.text)
        if cell.kind == "date":
            return _format_date(cell.text, epoch_1904)
    except (ValueError, OverflowError):
        if counts:
            raise RowError("cell.number", name, f"the cell is not a number {show(cell.text)}. Save it again.") from None
    return cell.text


def _require_exact(text: str, name: str) -> None:
    """Refuse the number of a row that is no whole one, or so large that a spreadsheet rounds it."""
    if not _WHOLE.fullmatch(text) or len(text) > _DIGITS or abs(int(text)) >= _FIRST_ROUNDED:
        message = f"a spreadsheet keeps whole numbers below 2^53 as they are, no others {show(text)}."
        raise RowError("id.number", name, message)


def _format_date(text: str, epoch_1904: bool) -> str:
    try:
        days = float(text)
    except ValueError:
        return text  # written out, as ISO 8601 says
    epoch = datetime(1904, 1, 1) if epoch_1904 else datetime(1899, 12, 30)
    return (epoch + timedelta(days=days)).isoformat()
