"""A benchmark's table as its class holds it."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from mmconvert.core.errors import Error, suggest_spelling
from mmconvert.kits.vlmevalkit.images import keep_rows_with_images

_CELLS = ("index", "image", "image_path")


def is_empty(cell: Any) -> bool:
    """Tell a cell that holds nothing, as pandas says it.

    Example:
        >>> is_empty(float("nan")), is_empty(None), is_empty("")
        (True, True, False)
    """
    return cell is None or (isinstance(cell, float) and cell != cell)


def prepared(table: Any, skip_noimg: bool) -> tuple[pd.DataFrame, bool]:
    """Follow references between pictures, read lists, and settle the index.

    Args:
        table: A DataFrame, or what becomes one.
        skip_noimg: Leave out rows whose `image` is empty.

    Returns:
        The table, and whether it has paths and no pictures.

    Raises:
        Error: There is no index, or a row names a picture that is not there.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_base.py:ImageBaseDataset.__init__; nothing in a cell
    is evaluated.
    """
    data = table.copy() if isinstance(table, pd.DataFrame) else pd.DataFrame(table)
    if "index" not in data:
        raise Error(f"the table has no column 'index'.{suggest_spelling('index', data.columns)} Number its rows.")
    if skip_noimg and "image" in data:
        data = data[~pd.isna(data["image"])].copy()
    rows = keep_rows_with_images(list_cells(data, _CELLS), skip_noimg=skip_noimg)
    for name in _CELLS:
        if name in data:
            cells = [row[name] for row in rows]
            data[name] = cells if name == "index" else pd.Series(cells, index=data.index, dtype=object)
    return data, "image" not in data


def list_cells(data: pd.DataFrame, names: Sequence[str]) -> list[dict[str, Any]]:
    """List the rows of a table with some of its columns, None for empty cells."""
    known = [name for name in names if name in data]
    columns = [[None if is_empty(cell) else cell for cell in data[name]] for name in known]
    return [dict(zip(known, cells, strict=True)) for cells in zip(*columns, strict=True)]
