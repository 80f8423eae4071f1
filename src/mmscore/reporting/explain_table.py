"""An explanation at the terminal."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mmscore.analysis.explain import ExplainedRow, Explanation, Reader
from mmscore.analysis.rule_contributions import Gap
from mmscore.core.recipe import OWN
from mmscore.core.table import SCORED
from mmscore.reporting.console_table import build_plain_table, escape_text, format_number, open_console, print_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_MOST_LINES = 40
_AROUND = 50
"""Characters of a response on either side of the place where the answer was read."""


def show(explanation: Explanation, console: "Console | None" = None) -> None:
    """Print which rules fired, where two recipes part, and the first rows.

    Args:
        explanation: What to print.
        console: Where to; standard output by default.
    """
    console = console or open_console()
    for letter, reader in zip("AB", explanation.readers, strict=False):
        console.print(f"[bold]{letter}[/bold]  {escape_text(_format_name(reader))}", soft_wrap=True)
    if explanation.gap is None:
        print_table(console, _build_rules_table(explanation.readers[0]))
    else:
        print_table(console, _build_gap_table(explanation.gap, explanation.readers))
    for row in explanation.rows:
        _show_row(row, console)
    left = explanation.found - len(explanation.rows)
    what = "rows" if explanation.gap is None else "rows whose scores differ"
    console.print(f"\n{explanation.found:,} {what}" + (f", {left:,} of them not shown (--limit)" if left else ""))


def _format_name(reader: Reader) -> str:
    recipe = reader.choice.recipe
    kit = OWN if recipe.parity == OWN else f"{recipe.parity}, {recipe.versions[reader.choice.version]}"
    numbers = ", ".join(f"{name} {format_number(e.value, e.unit)}" for name, e in list(reader.metrics.items())[:4])
    value = f"mean {reader.score} of {reader.n:,} rows {format_number(reader.value, 'fraction')}"
    return f"{reader.choice.name}@{reader.choice.version} ({kit}): {value}; its numbers: {numbers}"


def _build_rules_table(reader: Reader) -> "Table":
    table = build_plain_table("rows", "share", f"mean {reader.score}", first="rule that fired")
    for rule in reader.rules[:_MOST_LINES]:
        share = rule.rows / reader.n
        table.add_row(
            escape_text(rule.how), f"{rule.rows:,}", f"{share:.2%}", format_number(rule.total / rule.rows, "fraction")
        )
    return table


def _build_gap_table(gap: Gap, readers: Sequence[Reader]) -> "Table":
    title = f"{readers[1].score} B - A = {gap.difference:+.4f}, by the pair of rules that fired"
    table = build_plain_table(
        "rule in B", "rows", "changed", "sum in A", "sum in B", "of B - A", first="rule in A", title=title
    )
    for pair in gap.pairs[:_MOST_LINES]:
        sums = [_format_sum(pair.sum_a), _format_sum(pair.sum_b), f"{pair.contribution:+.4f}"]
        table.add_row(escape_text(pair.how_a), escape_text(pair.how_b), f"{pair.rows:,}", f"{pair.changed:,}", *sums)
    if rest := gap.pairs[_MOST_LINES:]:
        counts = [f"{sum(pair.rows for pair in rest):,}", f"{sum(pair.changed for pair in rest):,}"]
        totals = [math.fsum(pair.sum_a for pair in rest), math.fsum(pair.sum_b for pair in rest)]
        contribution = math.fsum(pair.contribution for pair in rest)
        table.add_row(f"{len(rest)} more pairs", "", *counts, *map(_format_sum, totals), f"{contribution:+.4f}")
    for part, where in ((gap.only_a, "scored by A alone"), (gap.only_b, "scored by B alone")):
        if part.rows:
            table.add_row(where, "", f"{part.rows:,}", "", "", "", f"{part.contribution:+.4f}")
    return table


def _shorten(text: str) -> str:
    return text if len(text) <= _AROUND else f"{text[:_AROUND]}..."


def _format_sum(value: float) -> str:
    return f"{value:,.0f}" if value.is_integer() else f"{value:,.2f}"


def _show_row(row: ExplainedRow, console: "Console") -> None:
    reference = " | ".join(row.reference[:3]) or "no reference"
    console.print(
        f"\n[bold]{escape_text(str(row.id))}[/bold]  reference: {escape_text(_join_lines(_shorten(reference)))}",
        soft_wrap=True,
    )
    for letter, reading in zip("AB", row.readings, strict=False):
        score = "-" if reading.score is None else f"{reading.score:g}"
        what = f"{reading.how} -> {'nothing' if reading.value is None else _shorten(reading.value)}"
        fate = what if reading.status == SCORED else reading.status
        text = format_excerpt(row.prediction or "", reading.span)
        console.print(f"  {letter}  {score:>5}  {escape_text(_join_lines(fate))}:  {escape_text(text)}", soft_wrap=True)


def format_excerpt(text: str, span: tuple[int, int] | None) -> str:
    """Show the part of a response that was read, in one line, the answer between `>>` and `<<`.

    Args:
        text: The response.
        span: Start and end of the answer in it; None shows its beginning and end.

    Example:
        >>> format_excerpt("So it is B.", (9, 10))
        'So it is >>B<<.'
    """
    if span is None:
        whole = len(text) <= 2 * _AROUND
        return _join_lines(text if whole else f"{text[:_AROUND]} ... {text[-_AROUND:]}")
    start, end = span
    before, answer, after = text[max(0, start - _AROUND) : start], text[start:end], text[end : end + _AROUND]
    if len(answer) > 2 * _AROUND:
        answer = f"{answer[:_AROUND]} ... {answer[-_AROUND:]}"
    cut = ["..." if start > _AROUND else "", "..." if end + _AROUND < len(text) else ""]
    return f"{cut[0]}{_join_lines(before)}>>{_join_lines(answer)}<<{_join_lines(after)}{cut[1]}"


def _join_lines(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ").replace("\t", " ")
