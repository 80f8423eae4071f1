"""Boxes on images, as annotations write them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from mmconvert.core.errors import RowError, UsageError, show, suggest_spelling
from mmconvert.core.text.literals import parse_list

LAYOUTS = ("xywh", "xyxy")
"""The last two numbers are width and height, or the opposite corner."""

_LARGEST = 1 << 31


class Box(msgspec.Struct, frozen=True):
    """Corners in pixels, fractions cut off; the image's upper left is (0, 0)."""

    left: int
    top: int
    right: int
    bottom: int


def check_layout(name: str) -> None:
    """Refuse a layout that is none.

    Raises:
        UsageError: Unknown name.
    """
    if name not in LAYOUTS:
        message = f"no box layout is called {name!r}.{suggest_spelling(name, LAYOUTS)} Known: {', '.join(LAYOUTS)}."
        raise UsageError(message)


def read_boxes(fields: Mapping[str, Any], field: str, layout: str, size: tuple[int, int]) -> tuple[Box, ...]:
    """Read the boxes of a row.

    Args:
        fields: The row's fields.
        field: Name of the one that holds a box or a list of boxes (as JSON text too); `a.b` looks inside a.
        layout: One of `LAYOUTS`.
        size: Width and height of the image.

    Returns:
        At least one box. Each covers a part of the image, and may reach beyond its edges.

    Raises:
        RowError: `box.missing`, `box.type`, `box.number`, `box.negative`, `box.outside`.

    Example:
        >>> read_boxes({"bbox": [1.9, 2, 3, 4.2]}, "bbox", "xywh", (10, 10))
        (Box(left=1, top=2, right=4, bottom=6),)
    """
    value = _take_value(fields, field)
    if isinstance(value, str):
        value = parse_list(value)
    if not isinstance(value, list) or not value:
        raise RowError("box.type", field, f"expected a box of four numbers, or a list of boxes {show(value)}.")
    boxes = value if isinstance(value[0], list) else [value]
    return tuple(_read_box(box, field, layout, size) for box in boxes)


def _take_value(fields: Mapping[str, Any], field: str) -> Any:
    if field in fields:
        return fields[field]
    value: Any = fields
    for name in field.split("."):
        if not isinstance(value, Mapping) or value.get(name) is None:
            hint = suggest_spelling(field, fields)
            raise RowError("box.missing", field, f"the row has no such field.{hint} Name the boxes' field: field=NAME.")
        value = value[name]
    return value


def _read_box(value: Any, field: str, layout: str, size: tuple[int, int]) -> Box:
    if not isinstance(value, list) or len(value) != 4:
        raise RowError("box.type", field, f"a box has four numbers {show(value)}.")
    for number in value:
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise RowError("box.type", field, f"a box has four numbers {show(value)}.")
        if not -_LARGEST <= number <= _LARGEST:
            raise RowError("box.number", field, f"a number of the box is out of range {show(value)}.")
    x, y, a, b = value
    if layout == "xywh":
        a, b = x + a, y + b
    if a < x or b < y:
        raise RowError("box.negative", field, f"a side of the box is negative, read as {layout} {show(value)}.")
    box = Box(int(x), int(y), int(a), int(b))
    width, height = size
    if box.left >= width or box.top >= height or box.right < 0 or box.bottom < 0:
        raise RowError("box.outside", field, f"the box lies outside the image of {width} x {height} {show(value)}.")
    return box
