"""The report at the terminal."""

import io
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from mmconvert.core.text.printable import escape_control
from mmscore.core.recipe import Metrics
from mmscore.core.report import Counts, Entry, Report
from mmscore.core.select_recipe import GIVEN
from mmscore.reporting.console_table import (
    build_plain_table,
    escape_text,
    format_cell,
    format_number,
    format_score,
    open_console,
    print_table,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_MOST_LINES = 60
_KIT_TABLE = 12
"""Lines and columns up to which a framework's table is printed; the JSON report always has it."""
_UNSCORED = ("excluded", "failed", "judge_failed", "missing", "rejected")
"""Row statuses without a score that have a column of their own where a row has them."""


def show(report: Report, console: "Console | None" = None, *, verbose: bool = False, by: Sequence[str] = ()) -> None:
    """Print a report: one table with a line for each file and recipe, then what its reader must know.

    Args:
        report: What to print.
        console: Where to; standard output by default.
        verbose: Print every metric, group, framework's table and the full signature of each entry, too.
        by: Columns whose groups are printed in any case.
    """
    console = console or open_console()
    print_table(console, _build_summary_table(report.entries))
    if verbose:
        for entry in report.entries:
            _show_entry(entry, console)
        return
    for line in dict.fromkeys(_describe_recipe(entry) for entry in report.entries if entry.reason != GIVEN):
        console.print(line, soft_wrap=True)
    named = len(report.entries) > 1
    for entry in report.entries:
        _show_notes(entry, console, f"{entry.model}, {entry.recipe}: " if named else "")
        for column, values in entry.groups.items():
            if column in by and len(values) > 1:
                title = f"{entry.model}, {entry.recipe}@{entry.version}" if named else None
                print_table(console, _build_groups_table(column, values, title))
    if console.is_terminal:
        console.print("[dim]--verbose shows every metric, group and the full signature.[/dim]")


def format_lines(report: Report) -> list[str]:
    """Write each entry as one line: model, dataset, recipe, score, number of samples, unparsed responses."""
    return [
        escape_control(
            f"{entry.model}  {_name_dataset(entry)}  {entry.recipe}@{entry.version}  "
            f"{_format_primary(entry, name=True)}  n={_count_samples(entry)}  unparsed={entry.counts.unparsed:,}"
        )
        for entry in report.entries
    ]


def draw(report: Report, width: int) -> str:
    """Give what `show` prints in full as text.

    Args:
        report: What to print.
        width: Letters in a line.
    """
    from rich.console import Console

    text = io.StringIO()
    show(report, Console(file=text, highlight=False, width=width), verbose=True)
    return text.getvalue()


def _build_summary_table(entries: Sequence[Entry]) -> "Table":
    """One line an entry; a column that tells entries apart is there where it is needed."""
    metrics = {name for entry in entries for name in list(entry.metrics)[:1]}
    keys = [(entry.model, _name_dataset(entry), entry.recipe, entry.version) for entry in entries]
    columns: dict[str, list[str]] = {
        "model": [entry.model for entry in entries],
        "dataset": [_name_dataset(entry) for entry in entries],
        "recipe": [f"{entry.recipe}@{entry.version}" for entry in entries],
    }
    if len({*keys}) < len(keys):
        columns["file"] = [entry.predictions for entry in entries]
    score = metrics.pop() if len(metrics) == 1 else "score"
    columns[score] = [_format_primary(entry, name=score == "score") for entry in entries]
    columns["n"] = [_count_samples(entry) for entry in entries]
    columns["unparsed"] = [f"{entry.counts.unparsed:,}" for entry in entries]
    for status in _UNSCORED:
        if any(getattr(entry.counts, status) for entry in entries):
            columns[status.replace("_", " ")] = [f"{getattr(entry.counts, status):,}" for entry in entries]
    columns["signature"] = [entry.fingerprint for entry in entries]
    _, *others = columns
    table = build_plain_table(*others, first="model", texts=("dataset", "recipe", "file"))
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*map(escape_text, cells))
    return table


def _name_dataset(entry: Entry) -> str:
    """Name the dataset, or the file where it does not state one."""
    return entry.dataset or PurePath(entry.predictions).stem or "-"


def _format_primary(entry: Entry, *, name: bool) -> str:
    """Write the recipe's first metric with its interval."""
    if entry.main_metric is None:
        return "-"
    metric, estimate = entry.main_metric
    return (f"{metric} " if name else "") + format_score(estimate)


def _count_samples(entry: Entry) -> str:
    """Count the samples behind the first metric, of how many where some have no score."""
    number = next((estimate.n for estimate in entry.metrics.values()), 0)
    counts = entry.counts
    whole = counts.unscored or entry.partial
    return f"{number:,} of {counts.total:,}" if whole and counts.total != number else f"{number:,}"


def _describe_recipe(entry: Entry) -> str:
    return escape_text(f"recipe: {entry.recipe}@{entry.version}, chosen for {entry.reason}")


def _show_notes(entry: Entry, console: "Console", named: str = "") -> None:
    for note in entry.notes:
        console.print(f"[bold]note:[/bold] {escape_text(named + note)}", soft_wrap=True)
    if entry.partial:
        console.print(f"[bold]note:[/bold] {escape_text(named)}only a part of the dataset is scored", soft_wrap=True)
    if entry.without_failures:
        console.print(escape_text(named + _describe_failures(entry)), soft_wrap=True)


def _show_entry(entry: Entry, console: "Console") -> None:
    console.print(f"\n[bold]{escape_text(entry.model)}[/bold] on {escape_text(_name_dataset(entry))}")
    console.print(
        f"{escape_text(entry.recipe)}@{escape_text(entry.version)} ({escape_text(entry.parity)})", soft_wrap=True
    )
    console.print(
        f"recipe: {escape_text('' if entry.reason == GIVEN else 'chosen for ')}{escape_text(entry.reason)}",
        soft_wrap=True,
    )
    _show_notes(entry, console)
    print_table(console, _build_numbers_table(entry))
    for column, values in entry.groups.items():
        if len(values) > 1:
            print_table(console, _build_groups_table(column, values))
    if entry.table and len(entry.table) <= _KIT_TABLE and len(entry.table[0]) <= _KIT_TABLE:
        print_table(console, _build_kit_table(entry))
    console.print(_format_counts(entry.counts, entry.partial), soft_wrap=True)
    console.print(f"[dim]signature {entry.fingerprint}: {escape_text(entry.signature)}[/dim]", soft_wrap=True)


def _build_numbers_table(entry: Entry) -> "Table":
    table = build_plain_table("value", "n", "stderr", "95 % interval", "unit", first="metric")
    for name, estimate in entry.metrics.items():
        interval = "" if estimate.ci95 is None else " - ".join(format_number(x, estimate.unit) for x in estimate.ci95)
        value = format_number(estimate.value, estimate.unit) + (" partial" if entry.partial else "")
        error = "" if estimate.stderr is None else format_number(estimate.stderr, estimate.unit)
        table.add_row(escape_text(name), f"[bold]{value}[/bold]", f"{estimate.n:,}", error, interval, estimate.unit)
    return table


def _build_groups_table(column: str, values: Mapping[str, Metrics], title: str | None = None) -> "Table":
    names = list(dict.fromkeys(name for metrics in values.values() for name in metrics))
    table = build_plain_table("n", *names, first=column, title=title)
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
    """Head a framework's table; where rows have no score it covers the others only."""
    kit, counts = entry.parity.partition(", ")[0].partition(" (")[0], entry.counts
    part = f", over {counts.total - counts.unscored:,} of {counts.total:,} rows" if counts.unscored else ""
    return f"Table as {kit} prints it{part}"


def _describe_failures(entry: Entry) -> str:
    numbers = ", ".join(f"{n} {format_number(e.value, e.unit)}" for n, e in entry.without_failures.items())
    failures = entry.counts.failures
    return f"{failures:,} responses are failed calls, scored as the framework scores them. Without them: {numbers}"


def _format_counts(counts: Counts, partial: bool) -> str:
    parts = [f"{counts.total:,} rows: {counts.scored:,} scored ({counts.unparsed:,} unparsed)"]
    parts += [f"{getattr(counts, status):,} {status}" for status in _UNSCORED if getattr(counts, status)]
    parts += [f"{counts.blank:,} blank responses"] if counts.blank else []
    return ", ".join(parts) + (" - only a part of the dataset" if partial else "")
