"""A comparison at the terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mmscore.analysis.align import Pairing, format_ids
from mmscore.analysis.compare import Comparison
from mmscore.reporting.console_table import build_plain_table, escape_text, format_number, open_console, print_table
from mmscore.scoring.bootstrap import NumberDifference
from mmscore.scoring.paired_tests import Difference

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_MOST_LINES = 60
_NUMBER_HEADINGS = ("A", "B", "B - A", "95 % interval", "unit", "p")
_HEADINGS = ("A", "B", "B - A", "95 % interval", "p", "only A right", "only B right", "n", "test")


def show(comparison: Comparison, console: "Console | None" = None) -> None:
    """Print who is compared, over which rows, and how far apart they are.

    Args:
        comparison: What to print.
        console: Where to; standard output by default.
    """
    console = console or open_console()
    for letter, entry in (("A", comparison.a), ("B", comparison.b)):
        name = f"{entry.model} on {entry.dataset or 'its dataset'} ({entry.predictions})"
        console.print(f"[bold]{letter}[/bold]  {escape_text(name)}", soft_wrap=True)
    console.print(
        f"   {escape_text(comparison.a.recipe)}@{escape_text(comparison.a.version)} "
        f"({escape_text(comparison.a.parity)})"
    )
    for line in (*_list_row_notes(comparison.pairing), *_list_doubts(comparison), *comparison.remarks):
        console.print(escape_text(line), soft_wrap=True)
    if comparison.scores:
        scores = build_plain_table(*_HEADINGS, first="score")
        for name, difference in comparison.scores.items():
            scores.add_row(escape_text(name), *_format_cells(difference), difference.test or "-")
        print_table(console, scores)
    others = {
        name: n for name, n in comparison.metrics.items() if n.test or n.why_no_p or name not in comparison.scores
    }
    if others:
        table = build_plain_table(
            *_NUMBER_HEADINGS, "test", first="metric", title="the recipe's numbers over these rows"
        )
        for name, number in others.items():
            table.add_row(escape_text(name), *_format_number_cells(number), number.test or "-")
        print_table(console, table)
    for column, values in comparison.groups.items():
        for name in comparison.scores:
            rows = {v: (_format_cells(g.scores[name]), g.p_holm[name]) for v, g in values.items() if name in g.scores}
            print_table(console, _build_groups_table(column, name, _HEADINGS[:-1], rows))
        for name in others:
            numbers = [(value, group) for value, group in values.items() if name in group.metrics]
            rows = {v: (_format_number_cells(g.metrics[name]), g.metrics_p_holm[name]) for v, g in numbers}
            print_table(console, _build_groups_table(column, name, _NUMBER_HEADINGS, rows))
    if comparison.others:
        names = ", ".join(comparison.others)
        console.print(
            escape_text(f"{comparison.primary} is the recipe's first metric and decides. --all tests {names} too."),
            soft_wrap=True,
        )


def _list_row_notes(pairing: Pairing) -> Iterator[str]:
    yield f"{len(pairing):,} rows compared"
    for ids, where in ((pairing.only_a, "only in A"), (pairing.only_b, "only in B"), (pairing.unscored, "in both")):
        if ids:
            what = f"{where} without a score on both sides" if ids is pairing.unscored else where
            yield f"{len(ids):,} rows {what}: {format_ids(ids)}"


def _list_doubts(comparison: Comparison) -> Iterator[str]:
    """Say what makes it doubtful that both files answer the same questions."""
    if comparison.apart:
        named = f"A names the dataset {comparison.a.dataset}, B {comparison.b.dataset}"
        yield f"{named}. If they are the same, give --dataset NAME."
    if comparison.unlike:
        found = f"{len(comparison.unlike):,} of these rows have other references or options in B than in A"
        yield f"{found} (compare answers to the same questions): {format_ids(comparison.unlike)}"


def _format_number_cells(number: NumberDifference) -> list[str]:
    values = [format_number(value, number.unit) for value in (number.a, number.b, number.value)]
    interval = "-" if number.ci95 is None else " to ".join(format_number(value, number.unit) for value in number.ci95)
    return [*values, interval, number.unit, _format_p_value(number.p, number.why_no_p)]


def _build_groups_table(
    column: str, name: str, headings: Sequence[str], rows: Mapping[str, tuple[list[str], float | None]]
) -> "Table":
    title = f"{name}: {len(rows)} groups, p adjusted for having looked at all of them (Holm)"
    table = build_plain_table(*headings, "p (Holm)", first=column, title=escape_text(title))
    for value, (cells, p) in list(rows.items())[:_MOST_LINES]:
        table.add_row(escape_text(value), *cells, _format_p_value(p))
    if len(rows) > _MOST_LINES:
        table.caption = f"{len(rows) - _MOST_LINES} more in the JSON"
    return table


def _format_cells(difference: Difference) -> list[str]:
    interval = "-" if difference.ci95 is None else " to ".join(f"{x:+.4f}" for x in difference.ci95)
    test = difference.mcnemar
    changed = ["-", "-"] if test is None else [f"{test.only_a:,}", f"{test.only_b:,}"]
    sides = [format_number(value, "fraction") for value in (difference.a, difference.b)]
    p = _format_p_value(difference.p, difference.why_no_p)
    return [*sides, f"{difference.value:+.4f}", interval, p, *changed, f"{difference.n:,}"]


def _format_p_value(p: float | None, why: str | None = None) -> str:
    """Write a p-value, which is never 0, or why there is none."""
    return why or "-" if p is None else f"{p:.4f}" if p >= 0.001 else "< 0.001"
