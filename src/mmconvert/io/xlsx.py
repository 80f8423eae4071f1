"""The first sheet of an xlsx workbook as rows of texts; a number gives the text a person would type.

The header is the first row that is not blank, blank rows are passed over, and only a blank cell is
missing. A formula, an error or a date in a column that is needed refuses the row: what stood there is
not what the file shows.
"""

import math
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from mmconvert.core.errors import Error, RowError, quote_value, show
from mmconvert.core.rows import Rejected, Row, Span, Where
from mmconvert.io.xlsx_cells import Workbook, XlsxCell, format_column, open_workbook

MAX_ROWS = 200_000
MAX_COLUMNS = 2_000
MAX_CHARACTERS = 1 << 30
"""Most characters of all cells: one shared text may stand in every cell."""

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
        Error: The file is no workbook, its first sheet is empty, or a column is named twice or by a formula.
    """
    book = open_workbook(path)
    return list(_read_names(book, next(book.rows(), (0, []))[1]).values())


def list_sheets(path: Path) -> tuple[str, ...]:
    """Name the sheets of a workbook; only the first is read."""
    return open_workbook(path).sheets


def rows(
    path: Path, span: Span | None = None, *, needed: Callable[[str], bool] = lambda _: True
) -> Iterator[Row | Rejected]:
    """Read the rows behind the header.

    Args:
        path: The file.
        span: Not used; a workbook is not cut.
        needed: Tells the columns whose cells must be plain values. In other columns a formula, an error or
            a date is kept as its text. A cell in a column without a name is kept as `column K`.

    Yields:
        A row for each row that is not blank, cells as text, None for blank ones; `Rejected` for a row with
        a cell that is no plain value. Other sheets are named in the first row's remarks.

    Raises:
        Error: As `read_header`; or the sheet is damaged or larger than the limits.
    """
    book = open_workbook(path)
    lines = book.rows()
    names = _read_names(book, next(lines, (0, []))[1])
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
        fields, errors = _build_fields(names, cells, needed, book.epoch_1904)
        if errors:
            first, *more = (Rejected.of(error, where) for error in errors)
            yield replace(first, row=Row(fields, where), others=tuple(more))
        else:
            yield Row(fields, where, remarks)
            remarks = ()


def format_number(text: str) -> str:
    """Write a number the way a person would: whole numbers without a point.

    Raises:
        ValueError: It is no number.

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
    return str(int(value)) if value.is_integer() and abs(value) < 1 << 53 else repr(value)


def _read_names(book: Workbook, cells: list[XlsxCell]) -> dict[int, str]:
    where = f"{book.path} sheet {book.sheets[0]!r}"
    if not cells:
        raise Error(f"{where}: is empty. Expected a header with column names.")
    if cells[-1].column >= MAX_COLUMNS:
        raise Error(f"{where}: has more than {MAX_COLUMNS:,} columns. Save it as TSV.")
    names: dict[int, str] = {}
    seen: set[str] = set()
    for cell in cells:
        if cell.kind in _REASONS:
            raise Error(f"{where}: the header holds a {cell.kind} {show(cell.text)}. Write the name as text.")
        name = cell.text.strip()
        if name in seen:
            raise Error(f"{where}: the column {quote_value(name)} stands twice. Rename one of them.")
        if name:
            names[cell.column] = name
            seen.add(name)
    return names


def _build_fields(
    names: dict[int, str], cells: list[XlsxCell], needed: Callable[[str], bool], epoch_1904: bool
) -> tuple[dict[str, str | None], list[RowError]]:
    """Give the cells by name, and why some cannot be read."""
    fields: dict[str, str | None] = dict.fromkeys(names.values())
    errors: list[RowError] = []
    for cell in cells:
        name = names.get(cell.column) or f"column {format_column(cell.column)}"
        try:
            if fields.get(name) is not None:
                raise RowError("cell.twice", name, "the cell stands twice in the file. Save it again.")
            if cell.kind in _REASONS and cell.column in names and needed(name):
                raise RowError(f"cell.{cell.kind}", name, _REASONS[cell.kind].format(got=show(cell.text)))
            fields[name] = cell.text if cell.kind == "text" else _format_cell(cell, name, epoch_1904)
        except RowError as error:
            errors.append(error)
    if errors:
        fields.update(dict.fromkeys(error.field for error in errors))
    return fields, errors


def _format_cell(cell: XlsxCell, name: str, epoch_1904: bool) -> str:
    try:
        if cell.kind == "number":
            return format_number(cell.text)
        if cell.kind == "date":
            return _format_date(cell.text, epoch_1904)
    except (ValueError, OverflowError):
        raise RowError("cell.number", name, f"the cell is no number {show(cell.text)}. Save it again.") from None
    return cell.text


def _format_date(text: str, epoch_1904: bool) -> str:
    try:
        days = float(text)
    except ValueError:
        return text  # written out, as ISO 8601 says
    epoch = datetime(1904, 1, 1) if epoch_1904 else datetime(1899, 12, 30)
    return (epoch + timedelta(days=days)).isoformat()
