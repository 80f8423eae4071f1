"""A ranking at the terminal."""

from typing import TYPE_CHECKING

from mmscore.analysis.rank import Ranking
from mmscore.reporting.console_table import build_plain_table, escape_text, open_console, print_table
from mmscore.reporting.rank_text import Grid, build_detail, build_overview, list_gaps, list_shortfalls

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def show(ranking: Ranking, console: "Console | None" = None) -> None:
    """Print averages, then each method's columns, then what is missing.

    Args:
        ranking: What to print.
        console: Where to; standard output by default.
    """
    console = console or open_console()
    print_table(console, _build_table(build_overview(ranking)))
    for table in ranking.tables:
        print_table(
            console, _build_table(build_detail(ranking, table), f"{table.method}: score (rank) by {ranking.by}")
        )
    for line in list_gaps(ranking):
        console.print(f"* {escape_text(line)}", soft_wrap=True)
    for line in list_shortfalls(ranking):
        console.print(escape_text(line), soft_wrap=True)


def _build_table(grid: Grid, title: str | None = None) -> "Table":
    (first, *others), lines = grid
    table = build_plain_table(*others, first=first, title=title)
    for line in lines:
        table.add_row(*map(escape_text, line))
    return table
