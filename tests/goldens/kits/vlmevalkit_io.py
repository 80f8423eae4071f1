"""Golden rules of what VLMEvalKit's tables lose between writing and reading."""

import math

from mmconvert.io.pandas_dtypes import restore_cells

NAMES = {bool: "bool", int: "int", float: "float", str: "str"}


def _stored(*, sheet):
    def run(given):
        # The kit's frame has a second column, always filled, so that no row is blank.
        table = restore_cells({"cells": given, "filled": ["x"] * len(given)}, sheet=sheet)
        return [_coded(cell) for cell in table["cells"]]

    return run


def _coded(cell):
    if cell is None:
        return ["nan", None]
    if isinstance(cell, float) and math.isinf(cell):
        return ["float", "Infinity" if cell > 0 else "-Infinity"]
    return [NAMES[type(cell)], cell]


RULES = {
    ("vlmeval_io", "roundtrip_tsv"): _stored(sheet=False),
    ("vlmeval_io", "roundtrip_xlsx"): _stored(sheet=True),
}
