"""Golden rules of what VLMEvalKit's tables lose between writing and reading, and of its rotated tables."""

import math
import tempfile
import warnings
from pathlib import Path

import pandas as pd

from goldens.product import fields_of, table_file
from mmconvert.io import tables, xlsx
from mmconvert.io.pandas_dtypes import read_cells
from mmscore.compat.vlmevalkit import CIRCULAR

CONVERT = "mmconvert convert --read-as vlmevalkit"
NAMES = {bool: "bool", int: "int", float: "float", str: "str"}


def _text(given):
    # The kit's frame has a second column, always filled, so that no row is blank.
    with table_file("table.tsv", ["cells", "filled"], [[cell, "x"] for cell in given]) as path:
        return _cells(tables.rows(path), sheet=False)


def _sheet(given):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.xlsx"
        frame = pd.DataFrame({"cells": given, "filled": ["x"] * len(given)})
        options = {"options": {"strings_to_formulas": False}}
        with warnings.catch_warnings(action="ignore"):  # of what it cuts
            frame.to_excel(path, index=False, engine="xlsxwriter", engine_kwargs=options)
        return _cells(xlsx.rows(path), sheet=True)


def _cells(rows, *, sheet):
    return [
        _coded(cell) for cell in read_cells({"cells": [fields_of(row)["cells"] for row in rows]}, sheet=sheet)["cells"]
    ]


def _coded(cell):
    if cell is None:
        return ["nan", None]
    if isinstance(cell, float) and math.isinf(cell):
        return ["float", "Infinity" if cell > 0 else "-Infinity"]
    return [NAMES[type(cell)], cell]


def _circular(given):
    with table_file("table.tsv", given["columns"], given["rows"]) as path:
        CIRCULAR(path)
        written = path.with_name("table_circular.tsv")
        columns, rows = tables.read_header(written), [fields_of(row) for row in tables.rows(written)]
    read = read_cells({name: [row[name] for row in rows] for name in columns})
    return {"columns": columns, "rows": [list(cells) for cells in zip(*read.values(), strict=True)]}


RULES = {
    ("vlmeval_io", "roundtrip_tsv"): (CONVERT, _text),
    ("vlmeval_io", "roundtrip_xlsx"): (CONVERT, _sheet),
    ("vlmeval_circular", "circular"): ("mmscore.compat.vlmevalkit.CIRCULAR", _circular),
}
