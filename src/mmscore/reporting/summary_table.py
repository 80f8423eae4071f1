"""Benchmarks by models in one table: at the terminal, as JSON, CSV and one HTML page without a script."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import msgspec

from mmconvert.core.text.csv_injection import write_safe_csv
from mmscore.core.estimates import Estimate
from mmscore.reporting.console_table import build_plain_table, escape_text, format_score, open_console, print_table

if TYPE_CHECKING:
    from rich.console import Console

_HEADINGS = ("benchmark", "recipe", "metric")
_NONE = "-"
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem;color:#1a1a1a;background:#fff}"
    "table{border-collapse:collapse}th,td{padding:.35rem .8rem;border-bottom:1px solid #ddd;text-align:left}"
    "td.n{text-align:right;font-variant-numeric:tabular-nums}"
    "@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}th,td{border-color:#444}}"
)


class SummaryRow(msgspec.Struct):
    """A benchmark under one recipe.

    Attributes:
        benchmark: The benchmark.
        recipe: The recipe and its version; "" where no model has a score.
        metric: The recipe's first metric.
        scores: Value of it by model; a model without a score is missing.
    """

    benchmark: str
    recipe: str = ""
    metric: str = ""
    scores: dict[str, Estimate] = msgspec.field(default_factory=dict)


def to_json(rows: Sequence[SummaryRow], models: Sequence[str]) -> dict[str, Any]:
    """Give the table as JSON values; a score is value, unit and number of samples, null where there is none."""
    return {
        "models": [*models],
        "rows": [
            {
                "benchmark": row.benchmark,
                "recipe": row.recipe or None,
                "metric": row.metric or None,
                "scores": {model: _build_score(row.scores.get(model)) for model in models},
            }
            for row in rows
        ],
    }


def _build_score(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    value = None if estimate.value != estimate.value else estimate.value
    return {"value": value, "unit": estimate.unit, "n": estimate.n}


def to_csv(rows: Sequence[SummaryRow], models: Sequence[str]) -> str:
    """Give the table as CSV, a column a model; values have all their digits."""
    lines: list[Sequence[Any]] = [(*_HEADINGS, *models)]
    for row in rows:
        values = [row.scores[model].value if model in row.scores else "" for model in models]
        lines.append((row.benchmark, row.recipe, row.metric, *values))
    return write_safe_csv(lines)


def to_html(rows: Sequence[SummaryRow], models: Sequence[str]) -> str:
    """Give the table as a page."""
    heads = "".join(f"<th>{escape(name)}</th>" for name in (*_HEADINGS, *models))
    lines = [
        "<tr>"
        + "".join(f"<td>{escape(text)}</td>" for text in (row.benchmark, row.recipe or _NONE, row.metric or _NONE))
        + "".join(f'<td class="n">{escape(text)}</td>' for text in _format_scores(row, models))
        + "</tr>"
        for row in rows
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Scores</title><style>{_STYLE}</style></head><body><h1>Scores</h1>\n"
        f"<table><thead><tr>{heads}</tr></thead><tbody>\n" + "\n".join(lines) + "\n</tbody></table></body></html>\n"
    )


def show(rows: Sequence[SummaryRow], models: Sequence[str], console: "Console | None" = None) -> None:
    """Print the table.

    Args:
        rows: A benchmark under a recipe each.
        models: Their columns.
        console: Where to; standard output by default.
    """
    table = build_plain_table(*_HEADINGS[1:], *models, first=_HEADINGS[0], texts=_HEADINGS)
    for row in rows:
        cells = (row.benchmark, row.recipe or _NONE, row.metric or _NONE, *_format_scores(row, models))
        table.add_row(*map(escape_text, cells))
    print_table(console or open_console(), table)


def _format_scores(row: SummaryRow, models: Sequence[str]) -> list[str]:
    return [format_score(row.scores[model]) if model in row.scores else _NONE for model in models]
