"""What pandas makes of a table's cells when nobody tells it what they are.

`None`, `NA`, `null`, `nan` and their like become missing, and a column that looks like numbers or truth
values becomes numbers or truth values as a whole (`007` is 7, and 7.0 where a cell is missing). A
workbook that pandas writes loses more: long texts are cut, long links vanish. VLMEvalKit and MMBench
read their tables so, hence whoever wants their numbers has to; see `mmconvert.readings`.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
from pandas.io.parsers import TextParser  # type: ignore[attr-defined]  # public, yet not in the stubs

Cell = str | int | float | bool | None
Columns = Mapping[str, Sequence[Cell]]

CELL_LENGTH = 32_767
LINK_LENGTH = 2_079
MAX_LINKS = 65_530
"""What a worksheet holds: UTF-16 units of a cell, of a link and of its anchor, and links in all."""

_LINK = re.compile(r"(?:ftp|http)s?://|mailto:|(?:in|ex)ternal:|file://")
_ESCAPE_LIKE = re.compile(r"(_x[0-9a-fA-F]{4}_)")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]")
_ESCAPED_ESCAPE = "x005F_"


def read_cells(columns: Columns, *, sheet: bool = False) -> dict[str, list[Cell]]:
    """Give the cells that pandas reads from a table, all defaults.

    Args:
        columns: Cells by column, all columns of equal length: the texts of a TSV, or the texts,
            numbers and truth values of a worksheet; None for an empty cell.
        sheet: True for a worksheet (`read_excel`), False for a TSV (`read_csv`).

    Returns:
        Cells by column: texts, ints, floats, truth values; None for a missing one. In a TSV a number
        among texts becomes a text.

    Source: pandas-dev/pandas 3.1 pandas/io/parsers/readers.py:read_csv, TextParser (2.2 differs in
    cells with a NUL). Not kept: `read_csv` types a very large table piece by piece, so that one
    column may hold numbers and texts; here a column has one type.

    Example:
        >>> read_cells({"A": ["cat", "None"], "B": ["007", None], "answer": ["1", "2"]})
        {'A': ['cat', None], 'B': [7.0, None], 'answer': [1, 2]}
    """
    read = _read_sheet_column if sheet else _read_text_column
    return {name: read(cells) for name, cells in columns.items()}


def restore_cells(columns: Columns, *, sheet: bool = False) -> dict[str, list[Cell]]:
    r"""Give the cells that come back when pandas writes a table of texts and reads it again.

    Args:
        columns: Texts by column, None for an empty cell; columns in the order of the table.
        sheet: True for a workbook written by XlsxWriter (formulas kept as text), False for a TSV.

    Returns:
        As `read_cells`.

    Source: jmcnamara/XlsxWriter 3.3.1 xlsxwriter/worksheet.py:_write_token_as_string, _write_url,
    xlsxwriter/xmlwriter.py:_escape_control_characters; openpyxl 3.1.5 openpyxl/reader/strings.py.

    Example:
        >>> stored_cells({"A": ["null", "a\rb", "mailto:x@y.org"]}, sheet=True)
        {'A': [None, 'a_x000D_b', 'x@y.org']}
    """
    if not sheet:
        return read_cells(columns)
    links = iter(range(MAX_LINKS))
    return {
        name: _read_sheet_column([_store_in_sheet(cell, links) for cell in cells]) for name, cells in columns.items()
    }


def _read_text_column(cells: Sequence[Cell]) -> list[Cell]:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter="\t", quoting=csv.QUOTE_ALL)
    writer.writerow(["cells"])
    # A spreadsheet has one kind of number: what it stores as 3.0 is read back as 3.
    writer.writerows([_restore_integer(cell)] for cell in cells)
    text.seek(0)
    return _list_cells(pd.read_csv(text, sep="\t", low_memory=False)["cells"])


def _read_sheet_column(cells: Sequence[Cell]) -> list[Cell]:
    # read_excel hands over rows of cells, "" for a blank one, whole numbers as ints.
    rows = [[_restore_integer("" if cell is None else cell)] for cell in cells]
    return _list_cells(TextParser([["cells"], *rows], header=0, skip_blank_lines=False).read()["cells"])


def _restore_integer(cell: Cell) -> Cell:
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def _list_cells(column: "pd.Series[Any]") -> list[Cell]:
    return [None if gone else value for gone, value in zip(column.isna(), column.tolist(), strict=True)]


def _store_in_sheet(cell: Cell, links: Iterator[int]) -> Cell:
    """Give what a worksheet keeps of a cell; each link uses one of `links` up."""
    if not isinstance(cell, str):
        return cell
    if _LINK.match(cell):
        address, _, anchor = cell.partition("#")
        if max(_measure_length(address), _measure_length(anchor)) > LINK_LENGTH or next(links, None) is None:
            return None
        cell = _read_link_text(cell)
    if _measure_length(cell) > CELL_LENGTH:
        cell = cell.encode("utf-16-le")[: 2 * CELL_LENGTH].decode("utf-16-le", "ignore")
    escaped = _CONTROL.sub(lambda found: f"_x{ord(found[0]):04X}_", _ESCAPE_LIKE.sub(r"_x005F\1", cell))
    return escaped.replace(_ESCAPED_ESCAPE, "")


def _read_link_text(link: str) -> str:
    """Give the text that the cell of a link shows."""
    if link.startswith(("mailto:", "internal:")):
        return link.partition(":")[2]
    if link.startswith(("external:", "file://")):
        path = link.replace("external:", "file:///", 1)
        return path.replace("file:///", "", 1).replace("file://", "", 1).replace("/", "\\")
    return link


def _measure_length(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
