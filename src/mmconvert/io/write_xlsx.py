"""Write texts as an xlsx workbook of one sheet; nothing is cut, turned into a formula or made a link."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from mmconvert.core.errors import Error
from mmconvert.core.extras import require_extra
from mmconvert.io.xlsx_cells import LAST_ROW

if TYPE_CHECKING:
    from xlsxwriter import Workbook

CELL_LENGTH = 32_767
"""Most characters of a workbook's cell; longer ones are cut in silence by the usual writers."""

_NUMBER = re.compile(r"0|[1-9][0-9]{0,14}")
_OPTIONS = {
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
}


def count_utf16_units(text: str) -> int:
    r"""Count characters as a spreadsheet does, in units of UTF-16.

    Example:
        >>> count_utf16_units("ab"), count_utf16_units("\U0001f600")
        (2, 2)
    """
    return len(text.encode("utf-16-le")) // 2


def write_workbook(
    path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, str | None]], key: str = "index"
) -> None:
    """Write rows behind a header.

    Args:
        path: The file; the same rows give the same bytes.
        columns: Names and order of the columns.
        rows: Texts by column; None and "" leave the cell blank.
        key: The column that names a row in messages; its whole numbers are written as numbers.

    Raises:
        Error: A text is longer than a cell, or there are more rows than a sheet holds.
    """
    # Imported here: whoever guesses a format loads all that write workbooks.
    with require_extra("xlsx", "a workbook"):
        import xlsxwriter

    try:
        with xlsxwriter.Workbook(path, _OPTIONS) as workbook:
            _fill(workbook, columns, rows, key)
    except xlsxwriter.exceptions.FileCreateError as error:
        # Its own kind hides the system's reason, such as a full disk.
        raise error.args[0] if error.args and isinstance(error.args[0], OSError) else Error(str(error)) from None


def _fill(workbook: "Workbook", columns: Sequence[str], rows: Iterable[Mapping[str, str | None]], key: str) -> None:
    # Left alone the file would hold the time of writing and never be the same twice.
    workbook.set_properties({"created": datetime(2000, 1, 1)})
    sheet = workbook.add_worksheet()
    sheet.write_row(0, 0, columns)
    for number, cells in enumerate(rows, 1):
        if number > LAST_ROW - 1:
            raise Error(f"a sheet holds {LAST_ROW - 1:,} rows. Export fewer.")
        for place, column in enumerate(columns):
            text = cells.get(column)
            if not text:
                continue
            if count_utf16_units(text) > CELL_LENGTH:
                raise Error(
                    f"row {cells[key]!r} {column}: has {len(text):,} characters, a cell holds {CELL_LENGTH:,}. "
                    "Shorten it; cut in silence it would lose its end."
                )
            if column == key and _NUMBER.fullmatch(text):
                sheet.write_number(number, place, int(text))
            else:
                sheet.write_string(number, place, text)
