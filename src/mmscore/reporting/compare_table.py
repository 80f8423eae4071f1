"""A comparison at the terminal."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mmscore.analysis.align import Pairing, format_ids
from mmscore.analysis.compare import Comparison, Group
from mmscore.core.report import Entry
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
    """Print who is compared, over which rows, and every difference.

    Args:
        comparison: What to print.
        console: Where to; standard output by default.
    """
    console = console or open_console()
    for letter, entry in (("A", comparison.a), ("B", comparison.b)):
        console.print(f"[bold]{letter}[/bold]  {escape_text(_format_name(entry))}", soft_wrap=True)
    console.print(
        f"   {escape_text(comparison.a.recipe)}@{escape_text(comparison.a.version)} "
        f"({escape_text(comparison.a.parity)})"
    )
    for line in (*_list_row_notes(comparison.pairing), *_list_doubts(comparison)):
        console.print(escape_text(line), soft_wrap=True)
    print_table(console, _build_scores_table(comparison.scores))
    others = {name: n for name, n in comparison.metrics.items() if n.test or name not in comparison.scores}
    if others:
        table = build_plain_table(
            *_NUMBER_HEADINGS, "test", first="metric", title="the recipe's numbers over these rows"
        )
        for name, number in others.items():
            table.add_row(escape_text(name), *_format_number_cells(number), number.test or "-")
        print_table(console, table)
    for column, values in comparison.groups.items():
        for name in comparison.scores:
            print_table(console, _build_groups_table(column, name, values))
        for name in others:
            print_table(console, _build_number_groups(column, name, values))


def _format_name(entry: Entry) -> str:
    return f"{entry.model} on {entry.dataset or 'an unnamed dataset'} ({entry.predictions})"


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
        yield f"{named}. If they are one, say so: --dataset NAME."
    if comparison.unlike:
        found = f"{len(comparison.unlike):,} of these rows have other references or options in B than in A"
        yield f"{found} (compare answers to the same questions): {format_ids(comparison.unlike)}"


def _build_scores_table(scores: Mapping[str, Difference]) -> "Table":
    table = build_plain_table(*_HEADINGS, first="score")
    for name, difference in scores.items():
        table.add_row(escape_text(name), *_format_cells(difference), difference.test or "-")
    return table


def _format_number_cells(number: NumberDifference) -> list[str]:
    values = [format_number(value, number.unit) for value in (number.a, number.b, number.value)]
    interval = "-" if number.ci95 is None else " to ".join(format_number(value, number.unit) for value in number.ci95)
    return [*values, interval, number.unit, _format_p_value(number.p)]


def _build_number_groups(column: str, name: str, values: Mapping[str, Group]) -> "Table":
    having = {value: group for value, group in values.items() if name in group.metrics}
    table = build_plain_table(*_NUMBER_HEADINGS, "p (Holm)", first=column, title=_build_title(name, having))
    for value, group in list(having.items())[:_MOST_LINES]:
        table.add_row(
            escape_text(value), *_format_number_cells(group.metrics[name]), _format_p_value(group.metrics_p_holm[name])
        )
    return _limit_rows(table, having)


def _build_title(name: str, having: Mapping[str, Group]) -> str:
    return escape_text(f"{name}: {len(having)} groups, p adjusted for having looked at all of them (Holm)")


def _limit_rows(table: "Table", having: Mapping[str, Group]) -> "Table":
    if len(having) > _MOST_LINES:
        table.caption = f"{len(having) - _MOST_LINES} more in the JSON"
    return table


def _build_groups_table(column: str, name: str, values: Mapping[str, Group]) -> "Table":
    having = {value: group for value, group in values.items() if name in group.scores}
    table = build_plain_table(*_HEADINGS[:-1], "p (Holm)", first=column, title=_build_title(name, having))
    for value, group in list(having.items())[:_MOST_LINES]:
        table.add_row(escape_text(value), *_format_cells(group.scores[name]), _format_p_value(group.p_holm[name]))
    return _limit_rows(table, having)


def _format_cells(difference: Difference) -> list[str]:
    interval = "-" if difference.ci95 is None else " to ".join(f"{x:+.4f}" for x in difference.ci95)
    test = difference.mcnemar
    changed = ["-", "-"] if test is None else [f"{test.only_a:,}", f"{test.only_b:,}"]
    numbers = [
        format_number(difference.a, "fraction"),
        format_number(difference.b, "fraction"),
        f"{difference.value:+.4f}",
    ]
    return [*numbers, interval, _format_p_value(difference.p), *changed, f"{difference.n:,}"]


def _format_p_value(p: float | None) -> str:
    return "-" if p is None else f"{p:.4f}" if p >= 0.0001 else f"{p:.1e}"
