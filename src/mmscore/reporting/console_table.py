"""Tables and texts at the terminal: what data says cannot drive it."""

import math
import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from mmconvert.core.text.printable import escape_control
from mmscore.core.estimates import Estimate

if TYPE_CHECKING:
    # Loaded only where a table is printed: rich takes longer to load than a small file to score.
    from rich.console import Console
    from rich.table import Column, Table

_DIGITS = {"fraction": 4, "percent": 2, "points": 2, "rows": 0}
_MANY = 1000
"""Samples from which on a second decimal says something."""
_ANY_WIDTH = 10_000
"""Columns in which any table fits."""


def open_console() -> "Console":
    """Give standard output, as wide as the terminal, or as any table needs where it is none."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else _ANY_WIDTH)


def build_plain_table(*numbers: str, first: str, title: str | None = None, texts: Collection[str] = ()) -> "Table":
    """Make an empty table: a column of names, then columns of numbers.

    Args:
        numbers: Headings of the columns to the right.
        first: Heading of the column of names.
        title: Line above the table.
        texts: Those of the headings whose column has texts.
    """
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(box=SIMPLE, title=title, title_justify="left")
    table.add_column(escape_text(first), overflow="fold", min_width=12)
    for heading in numbers:
        table.add_column(escape_text(heading), justify="left" if heading in texts else "right", overflow="fold")
    return table


def print_table(console: "Console", table: "Table") -> None:
    """Print a table whole, as a terminal's width allows: no column is lost and no number is broken.

    Where it would not fit, its columns stand closer together; where that is not enough, it is cut into several,
    each with the column of names.
    """
    if _measure_width(console, table) > console.width:
        table.padding = 0
    parts = [table] if _measure_width(console, table) <= console.width else _split_table(console, table)
    for part in parts:
        console.print(part)


def _measure_width(console: "Console", table: "Table") -> int:
    from rich.measure import Measurement

    wide = console.options.update(width=_ANY_WIDTH)
    return Measurement.get(console, wide, table).maximum


def _split_table(console: "Console", table: "Table") -> "list[Table]":
    """Cut a table into several that fit; names give way to numbers up to half the width."""
    names, *others = table.columns
    names.max_width = min(_measure_width(console, _build_part(table, [names])), console.width // 2)
    parts: list[list[Column]] = []
    for column in others:
        if parts and _measure_width(console, _build_part(table, [names, *parts[-1], column])) <= console.width:
            parts[-1].append(column)
        else:
            parts.append([column])
    made = [_build_part(table, [names, *columns]) for columns in parts]
    made[0].title, made[-1].caption = table.title, table.caption
    return made


def _build_part(table: "Table", columns: "Sequence[Column]") -> "Table":
    from rich.table import Table

    part = Table(box=table.box, padding=table.padding, title_justify=table.title_justify)
    for column in columns:
        part.add_column(
            column.header,
            justify=column.justify,
            overflow=column.overflow,
            min_width=column.min_width,
            max_width=column.max_width,
        )
    for cells in zip(*(column.cells for column in columns), strict=True):
        part.add_row(*cells)
    return part


def format_number(value: float | None, unit: str) -> str:
    """Write a number with the digits that its unit deserves.

    Example:
        >>> format_number(0.51234, "fraction"), format_number(None, "percent")
        ('0.5123', '-')
    """
    return "-" if value is None or math.isnan(value) else f"{value:.{_DIGITS.get(unit, 4)}f}"


def format_score(estimate: Estimate) -> str:
    """Write a metric with its 95 % interval in the unit of the field: a share as percent.

    One decimal, two from 1,000 samples on.

    Example:
        >>> format_score(Estimate(value=0.875, n=8, stderr=0.1, ci95=(0.5291, 0.9776), unit="fraction"))
        '87.5 % [52.9, 97.8]'
    """
    if math.isnan(estimate.value):
        return "-"
    scale, sign = {"fraction": (100, " %"), "percent": (1, " %")}.get(estimate.unit, (1, f" {estimate.unit}"))
    digits = 1 if estimate.n < _MANY else 2
    value, *bounds = (f"{scale * number:.{digits}f}" for number in (estimate.value, *(estimate.ci95 or ())))
    return f"{value}{sign}" + (f" [{', '.join(bounds)}]" if bounds else "")


def format_cell(value: Any) -> str:
    """Write any value of a framework's table.

    Example:
        >>> format_cell(None), format_cell(0.123456), format_cell("two")
        ('', '0.1235', 'two')
    """
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else escape_text(str(value))


def escape_text(text: str) -> str:
    """Escape what the terminal or the table's markup would obey."""
    from rich.markup import escape

    return escape(escape_control(text))
