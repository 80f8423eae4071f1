"""Tables and texts at the terminal: what data says cannot drive it."""

import math
import sys
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from mmconvert.command_line import printable

_DIGITS = {"fraction": 4, "percent": 2, "points": 2, "rows": 0}
_FILE_WIDTH = 160
"""Columns where the output is no terminal."""
_ANY_WIDTH = 10_000
"""Columns in which any table fits."""


def open_console() -> Console:
    """Give standard output, as wide as the terminal or as `_FILE_WIDTH`."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else _FILE_WIDTH)


def plain_table(*numbers: str, first: str, title: str | None = None) -> Table:
    """Make an empty table: a column of names, then columns of numbers.

    Args:
        numbers: Headings of the columns to the right.
        first: Heading of the column of names.
        title: Line above the table.
    """
    table = Table(box=SIMPLE, title=title, title_justify="left")
    table.add_column(safe(first), overflow="fold", min_width=12)
    for heading in numbers:
        table.add_column(safe(heading), justify="right", overflow="fold")
    return table


def print_table(console: Console, table: Table) -> None:
    """Print a table, its columns closer together where they would not fit: a name that is folded is hard to read."""
    wide = console.options.update(width=_ANY_WIDTH)
    if Measurement.get(console, wide, table).maximum > console.width:
        table.padding = 0
    console.print(table)


def shown(value: float | None, unit: str) -> str:
    """Write a number with the digits that its unit deserves.

    Example:
        >>> shown(0.51234, "fraction"), shown(None, "percent")
        ('0.5123', '-')
    """
    return "-" if value is None or math.isnan(value) else f"{value:.{_DIGITS.get(unit, 4)}f}"


def cell(value: Any) -> str:
    """Write any value of a kit's table.

    Example:
        >>> cell(None), cell(0.123456), cell("two")
        ('', '0.1235', 'two')
    """
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else safe(str(value))


def safe(text: str) -> str:
    """Escape what the terminal or the table's markup would obey."""
    return escape(printable(text))
