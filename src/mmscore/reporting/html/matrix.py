"""Where each result stands in the summary: a row for each model, a column for each dataset and recipe."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from mmscore.core.report import Entry


class MatrixCell(msgspec.Struct, frozen=True):
    """The place of one result: its model, and its recipe, with the dataset where there are several."""

    row: str
    column: str


def place_results(entries: Sequence[Entry]) -> list[MatrixCell]:
    """Give each result its place; no place is taken twice.

    Models are told apart by their names, and by their files where two results of a name would share a place.
    """
    datasets = len({entry.dataset for entry in entries}) > 1
    columns = [
        " · ".join(filter(None, [(entry.dataset or "unknown dataset") if datasets else "", name_recipe(entry)]))
        for entry in entries
    ]
    taken = Counter((entry.model, column) for entry, column in zip(entries, columns, strict=True))
    shared = {model for (model, _), count in taken.items() if count > 1}
    rows = [f"{entry.model} · {entry.predictions}" if entry.model in shared else entry.model for entry in entries]
    again = Counter[tuple[str, str]]()
    cells = []
    for row, column in zip(rows, columns, strict=True):
        again[row, column] += 1
        number = again[row, column]
        cells.append(MatrixCell(row if number == 1 else f"{row} ({number})", column))
    return cells


def name_recipe(entry: Entry) -> str:
    """Name the recipe of a result with its version."""
    return f"{entry.recipe}@{entry.version}"
