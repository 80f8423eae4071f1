"""A ranking as lines of cells: at the terminal, as CSV and as Markdown."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mmconvert.core.text.csv_injection import write_safe_csv
from mmscore.analysis.rank import Ranking, Table
from mmscore.core.ranking import GENERATION, LIKELIHOOD
from mmscore.reporting.console_table import build_plain_table, escape_text, open_console, print_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as ConsoleTable
_SHORT = {GENERATION: "Gen", LIKELIHOOD: "Like"}
Grid = tuple[Sequence[str], Sequence[Sequence[str]]]
"""Headings, and one line a model."""


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


def _build_table(grid: Grid, title: str | None = None) -> "ConsoleTable":
    (first, *others), lines = grid
    table = build_plain_table(*others, first=first, title=title)
    for line in lines:
        table.add_row(*map(escape_text, line))
    return table


def build_overview(ranking: Ranking) -> Grid:
    """Lay out average ranks and scores, the methods side by side; models with missing datasets bear a star.

    Where the average score decides, a model's place stands in front of it.
    """
    headings = ["Model"]
    models: dict[str, list[str]] = {}
    for number, table in enumerate(ranking.tables):
        shown = ("Place", "Avg-Score", "Avg-Rank") if ranking.by_score else ("Avg-Rank", "Avg-Score")
        headings += [f"{_SHORT[table.method]}-{name}" for name in shown]
        for standing in table.standings:
            cells = models.setdefault(standing.model, ["-"] * len(shown) * len(ranking.tables))
            values = {
                "Place": f"{standing.place:g}",
                "Avg-Rank": f"{standing.average_rank:.1f}",
                "Avg-Score": f"{standing.average_score:.2f}",
            }
            start = len(shown) * number
            cells[start : start + len(shown)] = [values[name] for name in shown]
            cells[start] += "*" if standing.missing else ""
    return headings, [[model, *cells] for model, cells in models.items()]


def build_detail(ranking: Ranking, table: Table) -> Grid:
    """Lay out one method: score and rank in each column, and how many of its datasets are there."""
    headings = ["Model"]
    for name, datasets in table.datasets.items():
        size = ranking.sizes.get(name)
        headings.append(name if size is None else f"{name} ({len(datasets)}/{size})")
    lines = []
    for standing in table.standings:
        cells = [
            f"{standing.scores[name]:.2f} ({standing.ranks[name]:g})" if name in standing.scores else "-"
            for name in table.datasets
        ]
        lines.append([standing.model, *cells])
    return headings, lines


def list_gaps(ranking: Ranking) -> list[str]:
    """Name what a model lacks that another has, one line a model and method."""
    return [
        f"{standing.model} by {table.method} lacks {', '.join(standing.missing)}"
        for table in ranking.tables
        for standing in table.standings
        if standing.missing
    ]


def list_shortfalls(ranking: Ranking) -> list[str]:
    """Name the files whose numbers do not cover all of their dataset, one line a file and reason."""
    unscored = [f"{cell.predictions}: {cell.unscored:,} rows have no score" for cell in ranking.cells if cell.unscored]
    partial = [f"{cell.predictions}: covers a part of {cell.dataset} only" for cell in ranking.cells if cell.partial]
    return [*unscored, *partial]


def to_markdown(ranking: Ranking) -> str:
    """Write the overview, then a table for each method, then what is missing."""
    parts = [_format_markdown(build_overview(ranking))]
    for table in ranking.tables:
        parts.append(
            f"{table.method.capitalize()}: score (rank) by "
            f"{ranking.by}\n\n{_format_markdown(build_detail(ranking, table))}"
        )
    if lines := list_gaps(ranking):
        parts.append("\\* not all datasets:\n\n" + _format_list(lines))
    if lines := list_shortfalls(ranking):
        parts.append("Not all rows:\n\n" + _format_list(lines))
    return "\n".join(parts)


def _format_list(lines: Sequence[str]) -> str:
    return "".join(f"- {_format_markdown_cell(line)}\n" for line in lines)


def _format_markdown(grid: Grid) -> str:
    headings, lines = grid
    rule = ["---", *["---:"] * (len(headings) - 1)]
    return "".join(f"| {' | '.join(map(_format_markdown_cell, line))} |\n" for line in (headings, rule, *lines))


def _format_markdown_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def to_csv(ranking: Ranking) -> str:
    """Write one line for each model and method: averages, then score and rank in each column, then what is missing.

    A text that a spreadsheet would run has an apostrophe in front; the JSON has it as it is.
    """
    columns = list(dict.fromkeys(name for table in ranking.tables for name in table.datasets))
    headings = [f"{name} {kind}" for name in columns for kind in ("score", "rank")]
    lines: list[list[Any]] = [["model", "method", "average_rank", "average_score", *headings, "missing"]]
    for table in ranking.tables:
        for standing in table.standings:
            numbers = [n for name in columns for n in (standing.scores.get(name), standing.ranks.get(name))]
            about = [standing.model, table.method, standing.average_rank, standing.average_score]
            lines.append([*about, *numbers, "; ".join(standing.missing)])
    return write_safe_csv(lines)
