"""A ranking at the terminal."""

from typing import TYPE_CHECKING

from mmscore.analysis.rank import Ranking
from mmscore.reporting.console_table import open_console, plain_table, print_table, safe
from mmscore.reporting.rank_text import Grid, detail, gaps, overview, shortfalls

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
    print_table(console, _table(overview(ranking)))
    for table in ranking.tables:
        print_table(console, _table(detail(ranking, table), f"{table.method}: score (rank) by {ranking.by}"))
    for line in gaps(ranking):
        console.print(f"* {safe(line)}", soft_wrap=True)
    for line in shortfalls(ranking):
        console.print(safe(line), soft_wrap=True)


def _table(grid: Grid, title: str | None = None) -> "Table":
    (first, *others), lines = grid
    table = plain_table(*others, first=first, title=title)
    for line in lines:
        table.add_row(*map(safe, line))
    return table
