"""What pandas makes of a table's cells when nobody tells it what they are.

`None`, `NA`, `null`, `nan` and their like become missing, and a column that looks like numbers or truth
values becomes numbers or truth values as a whole (`007` is 7, and 7.0 where a cell is missing). VLMEvalKit and MMBench
read their tables so, hence whoever wants their numbers has to; see `mmconvert.readings`.
"""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

Cell = str | int | float | bool | None
Columns = Mapping[str, Sequence[Cell]]

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
    if not columns:
        return {}
    frame = _read_sheet(columns) if sheet else _read_text(columns)
    return dict(zip(columns, (_list_cells(frame[name]) for name in frame), strict=True))


def _read_text(columns: Columns) -> "pd.DataFrame":
    import pandas as pd

    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter="\t", quoting=csv.QUOTE_ALL)
    writer.writerow(range(len(columns)))
    # A spreadsheet has one kind of number: what it stores as 3.0 is read back as 3.
    writer.writerows(map(_restore_integer, row) for row in zip(*columns.values(), strict=True))
    text.seek(0)
    frame: pd.DataFrame = pd.read_csv(text, sep="\t", low_memory=False)
    return frame


def _read_sheet(columns: Columns) -> "pd.DataFrame":
    from pandas.io.parsers import TextParser  # type: ignore[attr-defined]  # public, yet not in the stubs

    # read_excel hands over rows of cells, "" for a blank one, whole numbers as ints.
    lines = zip(*columns.values(), strict=True)
    rows = [["" if cell is None else _read_sheet_cell(cell) for cell in line] for line in lines]
    frame: pd.DataFrame = TextParser([[*range(len(columns))], *rows], header=0, skip_blank_lines=False).read()
    return frame


def _read_sheet_cell(cell: Cell) -> Cell:
    """Give a cell as openpyxl reads it, which leaves the escapes of control characters as they are.

    Source: openpyxl 3.1.5 openpyxl/reader/strings.py; XlsxWriter 3.3.1 xmlwriter.py:_escape_control_characters.
    """
    if not isinstance(cell, str):
        return _restore_integer(cell)
    escaped = _CONTROL.sub(lambda found: f"_x{ord(found[0]):04X}_", _ESCAPE_LIKE.sub(r"_x005F\1", cell))
    return escaped.replace(_ESCAPED_ESCAPE, "")


def _restore_integer(cell: Cell) -> Cell:
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def _list_cells(column: "pd.Series[Any]") -> list[Cell]:
    return [None if gone else value for gone, value in zip(column.isna(), column.tolist(), strict=True)]
