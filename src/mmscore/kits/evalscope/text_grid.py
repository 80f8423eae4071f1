"""A table of text with a line between rows, laid out as the Python package `tabulate` does."""

import math
import re
from collections.abc import Sequence
from typing import Any

import msgspec

HEADING_PADDING = 2
"""A column is at least this much wider than its heading."""


class GridStyle(msgspec.Struct, frozen=True):
    """The characters of a grid: (left, stroke, crossing, right) of its rules, and the bar between cells."""

    top: str
    below_headings: str
    between: str
    bottom: str
    bar: str


ASCII = GridStyle("+-++", "+=++", "+-++", "+-++", "|")
BOX = GridStyle("┌─┬┐", "├─┼┤", "├─┼┤", "└─┴┘", "│")

_INTEGER = re.compile(r"\s*[+-]?\d+(?:_\d+)*\s*")


def draw_grid(headings: Sequence[str], rows: Sequence[Sequence[Any]], lines: GridStyle = BOX) -> str:
    """Draw a table.

    A column whose cells are all numbers, or texts that read as numbers, stands to the right with
    its decimal points below each other; floats have up to six digits.

    Args:
        headings: One a column.
        rows: Cells; None is empty.
        lines: Which characters to draw with.

    Returns:
        The table without a line break at its end. Every character counts as one wide.

    Parity: tabulate 0.10.0, formats `grid` and `simple_grid`.

    Example:
        >>> print(text_grid(["Name", "Score"], [["a", 0.5], ["b", 0.25]], ASCII))
        +--------+---------+
        | Name   |   Score |
        +========+=========+
        | a      |    0.5  |
        +--------+---------+
        | b      |    0.25 |
        +--------+---------+
    """
    columns = [_format_column(heading, [row[n] for row in rows]) for n, heading in enumerate(headings)]
    widths = [len(column[0]) for column in columns]
    texts = [lines.bar + lines.bar.join(f" {cell} " for cell in row) + lines.bar for row in zip(*columns, strict=True)]
    drawn = [_draw_rule(lines.top, widths), texts[0], _draw_rule(lines.below_headings, widths)]
    for number, text in enumerate(texts[1:]):
        drawn += [_draw_rule(lines.between, widths), text] if number else [text]
    return "\n".join([*drawn, _draw_rule(lines.bottom, widths)])


def draw_columns(rows: Sequence[Sequence[Any]]) -> str:
    """Draw a table without headings, a rule above and below it.

    Args:
        rows: Cells, aligned as in `draw_grid`; at least one row.

    Parity: tabulate 0.10.0, format `simple`.

    Example:
        >>> print(text_columns([["split", "none"], ["Overall", 1.0]]))
        -------  ----
        split    none
        Overall  1.0
        -------  ----
    """
    columns = [_format_column(None, [row[n] for row in rows])[1:] for n in range(len(rows[0]))]
    rule = "  ".join("-" * len(column[0]) for column in columns)
    return "\n".join([rule, *("  ".join(cells).rstrip() for cells in zip(*columns, strict=True)), rule])


def _draw_rule(characters: str, widths: Sequence[int]) -> str:
    left, stroke, crossing, right = tuple(characters)
    return left + crossing.join(stroke * (width + 2) for width in widths) + right


def _format_column(heading: str | None, cells: Sequence[Any]) -> list[str]:
    """Format and align one column, heading first; an empty one where there is none."""
    least = 0 if heading is None else len(heading) + HEADING_PADDING
    heading = heading or ""
    present = [cell for cell in cells if cell not in (None, "")]
    whole, number = all(map(_is_integer, present)), all(map(_is_number, present))
    if not present or not number:
        texts = ["" if cell is None else str(cell).strip() for cell in cells]
        width = max([least, *map(len, texts)])
        return [text.ljust(width) for text in (heading, *texts)]
    texts = ["" if cell in (None, "") else str(cell).strip() if whole else f"{float(cell):g}" for cell in cells]
    places = max(map(_count_decimals, texts), default=-1)
    texts = [text + " " * (places - _count_decimals(text)) for text in texts]
    width = max([least, *map(len, texts)])
    return [text.rjust(width) for text in (heading, *texts)]


def _is_integer(cell: Any) -> bool:
    return type(cell) is int or (isinstance(cell, str) and _INTEGER.fullmatch(cell) is not None)


def _is_number(cell: Any) -> bool:
    if isinstance(cell, bool) or not isinstance(cell, str | int | float):
        return False
    try:
        value = float(cell)
    except ValueError:
        return False
    # A text such as "infinity" or "1e999" is a number to Python and a text to the table.
    return math.isfinite(value) or not isinstance(cell, str) or cell.lower() in ("inf", "-inf", "nan")


def _count_decimals(text: str) -> int:
    """Count the characters behind the decimal point or the exponent; -1 where there is neither."""
    if not _is_number(text) or _is_integer(text):
        return -1
    position = text.rfind(".") if "." in text else text.lower().rfind("e")
    return len(text) - position - 1 if position >= 0 else -1
