"""Which image belongs to which row of a VLMEvalKit table, and under which name the framework writes it.

For the compatibility layer, which holds such tables as the framework does; `lmu_table` reads them without its losses.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mmconvert.core.errors import RowError, show
from mmconvert.core.text.literals import looks_like_list, parse_list

Row = Mapping[str, Any]

REFERENCE_LENGTH = 64
"""An `image` cell of at most this many characters names another row."""

UNNAMED = ".png"
"""Ending of the framework's own names of images."""

WHOLE_NUMBER = re.compile(r"[+-]?(?:0|[1-9][0-9]*)")
EXPRESSION = re.compile(r"True|False|[-+*/%() 0-9]*[0-9)]\s*[-+*/%]+[-+*/%() 0-9]*|0[box]\w+")
"""What Python would evaluate to a whole number without being one."""


def keep_rows_with_images(rows: Sequence[Row], *, skip_noimg: bool = True) -> list[dict[str, Any]]:
    """Drop rows without an image, follow references to other rows, and settle the index.

    Args:
        rows: Cells by column, typed as the framework reads them, None for missing.
        skip_noimg: Drop rows whose `image` is missing.

    Returns:
        The rows that the framework keeps; `index` is a whole number where all are, else a text, and
        `image` is base64 or a list of it. A table without an `image` column keeps all rows.

    Raises:
        RowError: A reference names no row that has an image by then (one pass, in file order), or
            an index is an expression.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_base.py:ImageBaseDataset.__init__.

    Example:
        >>> image = "x" * 70
        >>> rows = [{"index": 1, "image": image}, {"index": 2, "image": "1"}]
        >>> [row["image"] == image for row in keep_rows_with_images(rows)]
        [True, True]
    """
    with_images = bool(rows) and "image" in rows[0]
    kept = [dict(row) for row in rows if not (with_images and skip_noimg) or row["image"] is not None]
    names = [str(row["index"]) for row in kept]
    if with_images:
        shown = [(name, row) for name, row in zip(names, kept, strict=True) if row["image"] is not None]
        images = _follow_references({name: str(row["image"]) for name, row in shown})
        for name, row in shown:
            row["image"] = _read_cell(images[name])
    for row in kept:
        if row.get("image_path") is not None:
            row["image_path"] = _read_cell(str(row["image_path"]))
    for row, index in zip(kept, _read_indices(names), strict=True):
        row["index"] = index
    return kept


def _follow_references(cells: dict[str, str]) -> dict[str, str]:
    for name, cell in cells.items():
        if len(cell) <= REFERENCE_LENGTH:
            if len(cells.get(cell, "")) <= REFERENCE_LENGTH:
                message = f"row {name!r} image: names no row with an image {show(cell)}. Give the image."
                raise RowError("image.reference", "image", message)
            cells[name] = cells[cell]
    return cells


def _read_cell(cell: str) -> str | list[str]:
    """Read a cell that may be a list; a list of one is that one."""
    items = [str(item) for item in parse_list(cell)] if looks_like_list(cell) else [cell]
    return items[0] if len(items) == 1 else items


def _read_indices(names: Sequence[str]) -> Sequence[int | str]:
    numbers = [WHOLE_NUMBER.fullmatch(name) is not None for name in names]
    if all(numbers):
        return [int(name) for name in names]
    unclear = [name for name, number in zip(names, numbers, strict=True) if not number]
    if all(EXPRESSION.fullmatch(name) for name in unclear):
        raise RowError("index.type", "index", f"an index must be a number or a name {show(unclear[0])}. Rename it.")
    return names


def list_image_files(row: Row) -> list[tuple[str, str]]:
    """List a row's images with the file name that the framework gives them below its image root.

    Args:
        row: A row from `keep_rows_with_images` with an `image`.

    Returns:
        Names and base64 texts; the shorter of two lists decides how many.

    Raises:
        RowError: Images and names do not go together, or the name is missing.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_base.py:ImageBaseDataset.dump_image.

    Example:
        >>> list_image_files({"index": 7, "image": ["aa", "bb"]})
        [('7_0.png', 'aa'), ('7_1.png', 'bb')]
    """
    images = row["image"]
    if "image_path" not in row:
        if isinstance(images, str):
            return [(f"{row['index']}{UNNAMED}", images)]
        return [(f"{row['index']}_{number}{UNNAMED}", image) for number, image in enumerate(images)]
    names = row["image_path"]
    if names is None or isinstance(names, str) != isinstance(images, str):
        raise RowError("image.names", "image_path", f"expected a name for each image {show(names)}. Give as many.")
    return [(names, images)] if isinstance(images, str) else list(zip(names, images, strict=False))


def list_image_paths(row: Row) -> list[str]:
    """List the images of a row whose table has no `image` column: the paths as they are.

    Raises:
        RowError: There is none.

    Example:
        >>> list_image_paths({"image_path": ["a.png", "b.png"]})
        ['a.png', 'b.png']
    """
    names = row.get("image_path")
    if names is None:
        raise RowError("image.missing", "image_path", "the row has no image. Give its path.")
    return [names] if isinstance(names, str) else list(names)
