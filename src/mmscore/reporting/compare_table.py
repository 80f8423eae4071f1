"""A comparison at the terminal."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mmscore.analysis.align import Pairing, listed
from mmscore.analysis.compare import Comparison, Group
from mmscore.core.report import Entry
from mmscore.reporting.console_table import open_console, plain_table, print_table, safe, shown
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
        console.print(f"[bold]{letter}[/bold]  {safe(_name(entry))}", soft_wrap=True)
    console.print(f"   {safe(comparison.a.recipe)}@{safe(comparison.a.version)} ({safe(comparison.a.parity)})")
    for line in (*_rows(comparison.pairing), *_doubts(comparison)):
        console.print(safe(line), soft_wrap=True)
    print_table(console, _scores(comparison.scores))
    others = {name: n for name, n in comparison.metrics.items() if n.test or name not in comparison.scores}
    if others:
        table = plain_table(*_NUMBER_HEADINGS, "test", first="metric", title="the recipe's numbers over these rows")
        for name, number in others.items():
            table.add_row(safe(name), *_number_cells(number), number.test or "-")
        print_table(console, table)
    for column, values in comparison.groups.items():
        for name in comparison.scores:
            print_table(console, _groups(column, name, values))
        for name in others:
            print_table(console, _number_groups(column, name, values))


def _name(entry: Entry) -> str:
    return f"{entry.model} on {entry.dataset or 'an unnamed dataset'} ({entry.predictions})"


def _rows(pairing: Pairing) -> Iterator[str]:
    yield f"{len(pairing):,} rows compared"
    for ids, where in ((pairing.only_a, "only in A"), (pairing.only_b, "only in B"), (pairing.unscored, "in both")):
        if ids:
            what = f"{where} without a score on both sides" if ids is pairing.unscored else where
            yield f"{len(ids):,} rows {what}: {listed(ids)}"


def _doubts(comparison: Comparison) -> Iterator[str]:
    """Say what makes it doubtful that both files answer the same questions."""
    if comparison.apart:
        named = f"A names the dataset {comparison.a.dataset}, B {comparison.b.dataset}"
        yield f"{named}. If they are one, say so: --dataset NAME."
    if comparison.unlike:
        found = f"{len(comparison.unlike):,} of these rows have other references or options in B than in A"
        yield f"{found} (compare answers to the same questions): {listed(comparison.unlike)}"


def _scores(scores: Mapping[str, Difference]) -> "Table":
    table = plain_table(*_HEADINGS, first="score")
    for name, difference in scores.items():
        table.add_row(safe(name), *_cells(difference), difference.test or "-")
    return table


def _number_cells(number: NumberDifference) -> list[str]:
    values = [shown(value, number.unit) for value in (number.a, number.b, number.value)]
    interval = "-" if number.ci95 is None else " to ".join(shown(value, number.unit) for value in number.ci95)
    return [*values, interval, number.unit, _chance(number.p)]


def _number_groups(column: str, name: str, values: Mapping[str, Group]) -> "Table":
    having = {value: group for value, group in values.items() if name in group.metrics}
    table = plain_table(*_NUMBER_HEADINGS, "p (Holm)", first=column, title=_title(name, having))
    for value, group in list(having.items())[:_MOST_LINES]:
        table.add_row(safe(value), *_number_cells(group.metrics[name]), _chance(group.metrics_p_holm[name]))
    return _cut(table, having)


def _title(name: str, having: Mapping[str, Group]) -> str:
    return safe(f"{name}: {len(having)} groups, p adjusted for having looked at all of them (Holm)")


def _cut(table: "Table", having: Mapping[str, Group]) -> "Table":
    if len(having) > _MOST_LINES:
        table.caption = f"{len(having) - _MOST_LINES} more in the JSON"
    return table


def _groups(column: str, name: str, values: Mapping[str, Group]) -> "Table":
    having = {value: group for value, group in values.items() if name in group.scores}
    table = plain_table(*_HEADINGS[:-1], "p (Holm)", first=column, title=_title(name, having))
    for value, group in list(having.items())[:_MOST_LINES]:
        table.add_row(safe(value), *_cells(group.scores[name]), _chance(group.p_holm[name]))
    return _cut(table, having)


def _cells(difference: Difference) -> list[str]:
    interval = "-" if difference.ci95 is None else " to ".join(f"{x:+.4f}" for x in difference.ci95)
    test = difference.mcnemar
    changed = ["-", "-"] if test is None else [f"{test.only_a:,}", f"{test.only_b:,}"]
    numbers = [shown(difference.a, "fraction"), shown(difference.b, "fraction"), f"{difference.value:+.4f}"]
    return [*numbers, interval, _chance(difference.p), *changed, f"{difference.n:,}"]


def _chance(p: float | None) -> str:
    return "-" if p is None else f"{p:.4f}" if p >= 0.0001 else f"{p:.1e}"
