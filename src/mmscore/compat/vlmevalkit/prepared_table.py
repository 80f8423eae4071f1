"""A benchmark's table as its class holds it."""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from mmconvert.core.errors import Error, show, suggest_spelling
from mmscore.compat.vlmevalkit.tables import toliststr

REFERENCE_LENGTH = 64
"""An `image` cell of at most this many characters names the row whose picture it shares."""


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

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_base.py:ImageBaseDataset.__init__; a row may also
    name one that stands behind it, and nothing in a cell is evaluated.
    """
    data = table.copy() if isinstance(table, pd.DataFrame) else pd.DataFrame(table)
    if "index" not in data:
        raise Error(f"the table has no column 'index'.{suggest_spelling('index', data.columns)} Number its rows.")
    if skip_noimg and "image" in data:
        data = data[~pd.isna(data["image"])].copy()
    names = [str(name) for name in data["index"]]
    if "image" in data:
        data["image"] = pd.Series(_followed(names, data["image"]), index=data.index, dtype=object)
    if "image_path" in data:
        paths = [cell if is_empty(cell) else _collapsed(toliststr(cell)) for cell in data["image_path"]]
        data["image_path"] = pd.Series(paths, index=data.index, dtype=object)
    whole = all(name.isascii() and name.isdigit() for name in names)
    data["index"] = [int(name) for name in names] if whole else names
    return data, "image" not in data


def _followed(names: Sequence[str], cells: Iterable[Any]) -> list[Any]:
    images = {name: str(cell) for name, cell in zip(names, cells, strict=True) if not is_empty(cell)}
    for name in images:
        seen = {name}
        while len(cell := images[name]) <= REFERENCE_LENGTH and cell not in seen and cell in images:
            seen.add(cell)
            images[name] = images[cell]
        if len(cell) <= REFERENCE_LENGTH and (cell in seen or cell.isdigit()):
            raise Error(f"row {name!r} image: names no row with a picture {show(cell)}. Give the picture.")
    return [_collapsed(toliststr(images[name])) if name in images else None for name in names]


def _collapsed(items: list[str]) -> str | list[str]:
    return items[0] if len(items) == 1 else items
