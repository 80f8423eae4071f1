"""How VLMEvalKit reads its tables: pandas with all defaults, which loses words and types.

`None`, `NA`, `null`, `nan` and their like become empty cells, and a column that looks like numbers or
truth values becomes numbers or truth values as a whole (`007` is 7, and 7.0 where a cell is empty).
Asked for with `--read-as vlmevalkit`, for parity only.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/smp/file.py:load (TSV by `read_csv`, xlsx by
`read_excel`), with pandas 2 and 3. Not kept: pandas types a very large table piece by piece, so that
one column may hold numbers and texts; here a column has one type.
"""

import csv
import io
from collections.abc import Mapping, Sequence

import pandas as pd

Cell = str | int | float | bool | None


def vlmevalkit(columns: Mapping[str, Sequence[Cell]]) -> dict[str, list[Cell]]:
    """Give the cells that pandas would give.

    Args:
        columns: Cells by column, all columns of equal length: texts and None of a TSV, also numbers
            and truth values of an xlsx sheet.

    Returns:
        Cells by column: texts, ints, floats, truth values; None for a missing one. A number among
        texts becomes a text.

    Example:
        >>> vlmevalkit({"A": ["cat", "None"], "B": ["007", None], "answer": ["1", "2"]})
        {'A': ['cat', None], 'B': [7.0, None], 'answer': [1, 2]}
    """
    return {name: _read(list(cells)) for name, cells in columns.items()}


def _read(cells: list[Cell]) -> list[Cell]:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter="\t", quoting=csv.QUOTE_ALL)
    writer.writerow(["cells"])
    # A spreadsheet has one kind of number: what it stores as 3.0 is read back as 3.
    writer.writerows([int(cell) if isinstance(cell, float) and cell.is_integer() else cell] for cell in cells)
    text.seek(0)
    column = pd.read_csv(text, sep="\t", low_memory=False)["cells"]
    return [None if gone else value for gone, value in zip(column.isna(), column.tolist(), strict=True)]


READING = vlmevalkit
