"""Golden rules of what VLMEvalKit's tables lose between writing and reading, and of its rotated tables."""

import tempfile
from pathlib import Path

import pandas as pd

from goldens.product import read_typed, table_file, write_workbook
from mmscore.compat.vlmevalkit import CIRCULAR, load
from mmscore.compat.vlmevalkit.tables import is_empty

CONVERT = "mmconvert convert --read-as vlmevalkit"
INFINITIES = {float("inf"): "Infinity", float("-inf"): "-Infinity"}
NAMES = {bool: "bool", int: "int", float: "float", str: "str"}


def _text(given):
    # The kit's frame has a second column, always filled, so that no row is blank.
    with table_file("table.tsv", ["cells", "filled"], [[cell, "x"] for cell in given]) as path:
        return _cells(path)


def _sheet(given):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.xlsx"
        frame = pd.DataFrame({"cells": given, "filled": ["x"] * len(given)})
        write_workbook(frame, path)
        return _cells(path)


def _cells(path):
    return [_coded(cell) for cell in read_typed(path)["cells"]]


def _coded(cell):
    if cell is None:
        return ["nan", None]
    return [NAMES[type(cell)], INFINITIES.get(cell, cell)]


def _circular(given):
    with table_file("table.tsv", given["columns"], given["rows"]) as path:
        CIRCULAR(path)
        table = load(path.with_name("table_circular.tsv"))
    rows = [[None if is_empty(cell) else cell for cell in row] for row in table.astype(object).values.tolist()]
    return {"columns": list(table), "rows": rows}


RULES = {
    ("vlmeval_io", "roundtrip_tsv"): (CONVERT, _text),
    ("vlmeval_io", "roundtrip_xlsx"): (CONVERT, _sheet),
    ("vlmeval_circular", "circular"): ("mmscore.compat.vlmevalkit.CIRCULAR", _circular),
}
