"""An explanation at the terminal."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mmscore.analysis.explain import ExplainedRow, Explanation, Reader
from mmscore.analysis.rule_contributions import Gap
from mmscore.core.recipe import OWN
from mmscore.core.table import SCORED
from mmscore.reporting.console_table import open_console, plain_table, print_table, safe, shown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_MOST_LINES = 40
_AROUND = 50
"""Characters of a reply on either side of the place where the answer was read."""


def show(explanation: Explanation, console: "Console | None" = None) -> None:
    """Print which rules fired, where two recipes part, and the first rows.

    Args:
        explanation: What to print.
        console: Where to; standard output by default.
    """
    console = console or open_console()
    for letter, reader in zip("AB", explanation.readers, strict=False):
        console.print(f"[bold]{letter}[/bold]  {safe(_name(reader))}", soft_wrap=True)
    if explanation.gap is None:
        print_table(console, _rules(explanation.readers[0]))
    else:
        print_table(console, _gap(explanation.gap, explanation.readers))
    for row in explanation.rows:
        _show_row(row, console)
    left = explanation.found - len(explanation.rows)
    what = "rows" if explanation.gap is None else "rows whose scores differ"
    console.print(f"\n{explanation.found:,} {what}" + (f", {left:,} of them not shown (--limit)" if left else ""))


def _name(reader: Reader) -> str:
    recipe = reader.choice.recipe
    kit = OWN if recipe.parity == OWN else f"{recipe.parity}, {recipe.versions[reader.choice.version]}"
    numbers = ", ".join(f"{name} {shown(e.value, e.unit)}" for name, e in list(reader.metrics.items())[:4])
    value = f"mean {reader.score} of {reader.n:,} rows {shown(reader.value, 'fraction')}"
    return f"{reader.choice.name}@{reader.choice.version} ({kit}): {value}; its numbers: {numbers}"


def _rules(reader: Reader) -> "Table":
    table = plain_table("rows", "share", f"mean {reader.score}", first="rule that fired")
    for rule in reader.rules[:_MOST_LINES]:
        share = rule.rows / reader.n
        table.add_row(safe(rule.how), f"{rule.rows:,}", f"{share:.2%}", shown(rule.total / rule.rows, "fraction"))
    return table


def _gap(gap: Gap, readers: Sequence[Reader]) -> "Table":
    title = f"{readers[1].score} B - A = {gap.difference:+.4f}, by the pair of rules that fired"
    table = plain_table(
        "rule in B", "rows", "changed", "sum in A", "sum in B", "of B - A", first="rule in A", title=title
    )
    for pair in gap.pairs[:_MOST_LINES]:
        sums = [_sum(pair.sum_a), _sum(pair.sum_b), f"{pair.contribution:+.4f}"]
        table.add_row(safe(pair.how_a), safe(pair.how_b), f"{pair.rows:,}", f"{pair.changed:,}", *sums)
    if rest := gap.pairs[_MOST_LINES:]:
        counts = [f"{sum(pair.rows for pair in rest):,}", f"{sum(pair.changed for pair in rest):,}"]
        totals = [math.fsum(pair.sum_a for pair in rest), math.fsum(pair.sum_b for pair in rest)]
        contribution = math.fsum(pair.contribution for pair in rest)
        table.add_row(f"{len(rest)} more pairs", "", *counts, *map(_sum, totals), f"{contribution:+.4f}")
    for part, where in ((gap.only_a, "scored by A alone"), (gap.only_b, "scored by B alone")):
        if part.rows:
            table.add_row(where, "", f"{part.rows:,}", "", "", "", f"{part.contribution:+.4f}")
    return table


def _cut(text: str) -> str:
    return text if len(text) <= _AROUND else f"{text[:_AROUND]}..."


def _sum(value: float) -> str:
    return f"{value:,.0f}" if value.is_integer() else f"{value:,.2f}"


def _show_row(row: ExplainedRow, console: "Console") -> None:
    reference = " | ".join(row.reference[:3]) or "no reference"
    console.print(f"\n[bold]{safe(str(row.id))}[/bold]  reference: {safe(_line(_cut(reference)))}", soft_wrap=True)
    for letter, reading in zip("AB", row.readings, strict=False):
        score = "-" if reading.score is None else f"{reading.score:g}"
        what = f"{reading.how} -> {'nothing' if reading.value is None else _cut(reading.value)}"
        fate = what if reading.status == SCORED else reading.status
        text = excerpt(row.prediction or "", reading.span)
        console.print(f"  {letter}  {score:>5}  {safe(_line(fate))}:  {safe(text)}", soft_wrap=True)


def excerpt(text: str, span: tuple[int, int] | None) -> str:
    """Show the part of a reply that was read, in one line, the answer between `>>` and `<<`.

    Args:
        text: The reply.
        span: Start and end of the answer in it; None shows its beginning and end.

    Example:
        >>> excerpt("So it is B.", (9, 10))
        'So it is >>B<<.'
    """
    if span is None:
        whole = len(text) <= 2 * _AROUND
        return _line(text if whole else f"{text[:_AROUND]} ... {text[-_AROUND:]}")
    start, end = span
    before, answer, after = text[max(0, start - _AROUND) : start], text[start:end], text[end : end + _AROUND]
    if len(answer) > 2 * _AROUND:
        answer = f"{answer[:_AROUND]} ... {answer[-_AROUND:]}"
    cut = ["..." if start > _AROUND else "", "..." if end + _AROUND < len(text) else ""]
    return f"{cut[0]}{_line(before)}>>{_line(answer)}<<{_line(after)}{cut[1]}"


def _line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ").replace("\t", " ")
