"""The report at the terminal."""

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mmscore.core.recipe import Metrics
from mmscore.core.report import Counts, Entry, Report
from mmscore.reporting.console_table import (
    build_plain_table,
    escape_text,
    format_cell,
    format_number,
    open_console,
    print_table,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_MOST_LINES = 60
_KIT_TABLE = 12
"""Lines and columns up to which a kit's own table is printed; the JSON report always has it."""


def show(report: Report, console: "Console | None" = None) -> None:
    """Print every entry: its numbers, its groups, the kit's own table, its counts.

    Args:
        report: What to print.
        console: Where to; standard output by default.
    """
    console = console or open_console()
    if len(report.entries) > 1:
        print_table(console, _build_comparison_table(report.entries))
    for entry in report.entries:
        _show_entry(entry, console)


def draw(report: Report, width: int) -> str:
    """Give what `show` prints as text.

    Args:
        report: What to print.
        width: Letters in a line.
    """
    from rich.console import Console

    text = io.StringIO()
    show(report, Console(file=text, highlight=False, width=width))
    return text.getvalue()


def _show_entry(entry: Entry, console: "Console") -> None:
    console.print(f"\n[bold]{escape_text(entry.model)}[/bold] on {escape_text(entry.dataset or 'an unnamed dataset')}")
    console.print(
        f"{escape_text(entry.recipe)}@{escape_text(entry.version)} ({escape_text(entry.parity)})", soft_wrap=True
    )
    console.print(f"chosen because: {escape_text(entry.reason)}", soft_wrap=True)
    for note in entry.notes:
        console.print(f"[bold]note:[/bold] {escape_text(note)}", soft_wrap=True)
    print_table(console, _build_numbers_table(entry))
    for column, values in entry.groups.items():
        if len(values) > 1:
            print_table(console, _build_groups_table(column, values))
    if entry.table and len(entry.table) <= _KIT_TABLE and len(entry.table[0]) <= _KIT_TABLE:
        print_table(console, _build_kit_table(entry))
    if entry.without_failures:
        console.print(_describe_failures(entry), soft_wrap=True)
    console.print(_format_counts(entry.counts, entry.partial), soft_wrap=True)
    console.print(f"[dim]{escape_text(entry.signature)}[/dim]", soft_wrap=True)


def _build_numbers_table(entry: Entry) -> "Table":
    table = build_plain_table("value", "n", "stderr", "95 % interval", "unit", first="metric")
    for name, estimate in entry.metrics.items():
        interval = "" if estimate.ci95 is None else " - ".join(format_number(x, estimate.unit) for x in estimate.ci95)
        value = format_number(estimate.value, estimate.unit) + (" partial" if entry.partial else "")
        error = "" if estimate.stderr is None else format_number(estimate.stderr, estimate.unit)
        table.add_row(escape_text(name), f"[bold]{value}[/bold]", f"{estimate.n:,}", error, interval, estimate.unit)
    return table


def _build_groups_table(column: str, values: Mapping[str, Metrics]) -> "Table":
    names = list(dict.fromkeys(name for metrics in values.values() for name in metrics))
    table = build_plain_table("n", *names, first=column)
    for value in list(values)[:_MOST_LINES]:
        metrics = values[value]
        cells = [format_number(metrics[name].value, metrics[name].unit) if name in metrics else "" for name in names]
        table.add_row(escape_text(value), f"{max((e.n for e in metrics.values()), default=0):,}", *cells)
    if len(values) > _MOST_LINES:
        table.caption = f"{len(values) - _MOST_LINES} more in the JSON report"
    return table


def _build_kit_table(entry: Entry) -> "Table":
    first, *others = dict.fromkeys(key for line in entry.table for key in line)
    table = build_plain_table(*others, first=first, title=name_kit_table(entry))
    for line in entry.table:
        table.add_row(*(format_cell(line.get(heading)) for heading in (first, *others)))
    return table


def name_kit_table(entry: Entry) -> str:
    """Head a framework's own table; where rows have no score it covers the others only."""
    kit, counts = entry.parity.partition(", ")[0].partition(" (")[0], entry.counts
    part = f", over {counts.total - counts.unscored:,} of {counts.total:,} rows" if counts.unscored else ""
    return f"Table as {kit} prints it{part}"


def _build_comparison_table(entries: Sequence[Entry]) -> "Table":
    names = list(dict.fromkeys(name for entry in entries for name in entry.metrics))
    table = build_plain_table("recipe", *names, first="model")
    for entry in entries:
        cells = [format_number(e.value, e.unit) if (e := entry.metrics.get(name)) else "" for name in names]
        table.add_row(escape_text(entry.model), escape_text(f"{entry.recipe}@{entry.version}"), *cells)
    return table


def _describe_failures(entry: Entry) -> str:
    numbers = ", ".join(f"{n} {format_number(e.value, e.unit)}" for n, e in entry.without_failures.items())
    failures = entry.counts.failures
    return f"{failures:,} responses are failed calls, scored as the framework scores them. Without them: {numbers}"


def _format_counts(counts: Counts, partial: bool) -> str:
    parts = [f"{counts.total:,} rows: {counts.scored:,} scored ({counts.unparsed:,} unparsed)"]
    fates = ("excluded", "failed", "judge_failed", "missing", "rejected")
    parts += [f"{getattr(counts, fate):,} {fate}" for fate in fates if getattr(counts, fate)]
    parts += [f"{counts.blank:,} blank responses"] if counts.blank else []
    return ", ".join(parts) + (" - a part of the dataset only" if partial else "")
