"""A report or a comparison in a notebook: data frames, HTML tables with bars, a bar chart."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
from msgspec.structs import asdict

from mmconvert.core.errors import UsageError, show, suggest_spelling
from mmconvert.core.extras import require_extra
from mmscore.analysis.align import format_ids
from mmscore.analysis.compare import Comparison
from mmscore.core.estimates import Estimate
from mmscore.core.recipe import Metrics
from mmscore.core.report import CSV_COLUMNS, Report
from mmscore.core.table import JUDGE_FIELDS
from mmscore.reporting.console_table import format_number
from mmscore.reporting.report_table import format_lines
from mmscore.reporting.scored_rows import ROWS_SCHEMA, build_rows_table
from mmscore.scoring.bootstrap import NumberDifference
from mmscore.scoring.paired_tests import Difference

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

Frame = Literal["metrics", "groups", "counts", "rows"]
FRAMES: tuple[Frame, ...] = ("metrics", "groups", "counts", "rows")

_ABOUT = ("model", "dataset", "recipe", "version")
_GROUP = ("group", "group_value")
_NUMBER_HEADINGS = ("metric", "value", "", "95 % interval", "n")
_DIFFERENCE_HEADINGS = ("metric", "A", "B", "A above, B below", "B - A", "95 % interval", "p", "wins : losses of B")
_LEVEL = 0.05
"""p-value below which a difference is said to be more than chance."""
_SMALLEST = 0.001
"""p-value below which no digits are shown."""
_WHOLES = {"fraction": 1.0, "percent": 100.0}
"""Unit of a share -> the whole."""
_WIDTH = 160
"""Pixels of a bar of the whole."""
_MOST_VALUES = 100
"""Bars of a chart; more could not be distinguished."""


class _Markup(str):
    """HTML of this module, which is not escaped again."""

    __slots__ = ()


class NotebookReport(Report):
    """A report that shows itself in a notebook as a table, and gives its numbers as data frames and charts."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Give a line an entry, for a terminal."""
        return "\n".join(format_lines(self)) or "<Report of nothing>"

    def to_pandas(self, what: Frame = "metrics") -> "pd.DataFrame":
        """Give what the report holds as a data frame.

        Args:
            what: `metrics`: a row for each number over all rows of a file. `groups`: a row for each number over
                the rows with one value of a breakdown column. `counts`: a row for each entry, with what became
                of its rows. `rows`: a row for each row scored, with what was read in it, by which rule, and
                its scores.

        Raises:
            UsageError: There is no such frame, or the report was made without its rows.
        """
        import pandas as pd

        if what not in FRAMES:
            raise UsageError(
                f"to_pandas: no frame {what!r}.{suggest_spelling(str(what), FRAMES)} Known: {', '.join(FRAMES)}."
            )
        if what == "rows":
            return _build_rows_frame(self)
        if what == "counts":
            return pd.DataFrame(
                [{name: getattr(entry, name) for name in _ABOUT} | asdict(entry.counts) for entry in self.entries]
            )
        table = pd.DataFrame(self.lines(), columns=list(CSV_COLUMNS))
        overall = table["group"].isna()
        if what == "metrics":
            return table[overall].drop(columns=[*_GROUP]).reset_index(drop=True)
        return table[~overall].reset_index(drop=True)

    def plot(self, by: str | None = None, metric: str | None = None) -> "go.Figure":
        """Draw a metric as bars with their 95 % intervals, entries side by side.

        Entries that lack the number are named in the title.

        Args:
            by: Column of the breakdown; None for the first that has several values in each entry, or for the whole.
            metric: Which number; None for the first that all entries have, or the first of any.

        Returns:
            A plotly figure, which a notebook shows; `figure.write_html(FILE)` keeps it.

        Raises:
            UsageError: The report has no such breakdown or metric, or plotly is not installed.
        """
        with require_extra("report", "plot"):
            import plotly.graph_objects as go
        entries = self.entries
        metric = _check_choice(metric, _list_shared_first([list(entry.metrics) for entry in entries]), "metric")
        broken_down = [[c for c, values in e.groups.items() if len(values) > 1 or c == by] for e in entries]
        columns = _list_shared_first(broken_down)
        if by is not None or (columns and all(columns[0] in having for having in broken_down)):
            by = _check_choice(by, columns, "breakdown")
        chart, lacking = go.Figure(), []
        for entry in entries:
            shown = {"all rows": entry.metrics} if by is None else entry.groups.get(by, {})
            found = {value: metrics[metric] for value, metrics in shown.items() if metric in metrics}
            name = f"{entry.model}, {entry.recipe}@{entry.version}"
            if found:
                chart.add_trace(_draw_bars(name, found))
            else:
                lacking.append(name)
        unit = next(e.metrics[metric].unit for e in self.entries if metric in e.metrics)
        chart.update_layout(
            barmode="group",
            template="plotly_white",
            xaxis={"title": escape(by or ""), "type": "category"},
            yaxis_title=f"{escape(metric)}, {unit}; bars: 95 % interval",
            legend={"orientation": "h", "y": 1.1},
            title=escape(f"without {'; '.join(lacking)}: no {metric}{f' by {by}' if by else ''}") if lacking else None,
        )
        return chart

    def _repr_html_(self) -> str:
        """Give a table for a notebook: a line for each number, the groups folded away; all texts are escaped."""
        lines: list[Sequence[str]] = [
            (entry.model, entry.dataset or "", f"{entry.recipe}@{entry.version}", *numbers)
            for entry in self.entries
            for numbers in _build_number_lines(entry.metrics, " partial" if entry.partial else "")
        ]
        blocks = [_render_table(("model", "dataset", "recipe", *_NUMBER_HEADINGS), lines)]
        for entry in self.entries:
            heading = f"{entry.model}, {entry.recipe}@{entry.version} ({entry.parity})"
            counts = ", ".join(f"{number:,} {fate}" for fate, number in asdict(entry.counts).items() if number)
            blocks.append(
                f"<p><b>{escape(heading)}</b><br>{''.join(f'{escape(note)}<br>' for note in entry.notes)}"
                f"{escape(counts)}<br><code>{escape(entry.signature)}</code></p>"
            )
            for column, values in entry.groups.items():
                lines = [
                    (value, *numbers) for value, metrics in values.items() for numbers in _build_number_lines(metrics)
                ]
                table = _render_table((column, *_NUMBER_HEADINGS), lines)
                blocks.append(f"<details><summary>by {escape(column)} ({len(values):,})</summary>{table}</details>")
        return f'<div class="mmscore-report">{"".join(blocks)}</div>'


def _build_rows_frame(report: Report) -> "pd.DataFrame":
    import pandas as pd

    if len(report.scored) < len(report.entries):
        raise UsageError('to_pandas("rows"): the report was made without its rows. Make it with mmscore.score.')
    tables = [build_rows_table(*one) for one in zip(report.entries, report.scored, strict=True)]
    table = pa.concat_tables(tables) if tables else ROWS_SCHEMA.empty_table()
    # A column that no row has says nothing here, where nothing depends on the columns' number.
    unused = [name for name in JUDGE_FIELDS.names if table[name].null_count == len(table)]
    rows: pd.DataFrame = table.drop_columns(["span", "scores", *unused]).to_pandas()
    start, end = ([one.rows[name].to_pandas() for one in report.scored] for name in ("start", "end"))
    if tables:
        rows["start"], rows["end"] = (pd.concat(parts, ignore_index=True).astype("Int32") for parts in (start, end))
    for name in dict.fromkeys(name for one in report.scored for name in one.scores):
        rows[name] = np.concatenate([one.scores.get(name, np.full(len(one), np.nan)) for one in report.scored])
    return rows


def _build_number_lines(metrics: Metrics, note: str = "") -> list[Sequence[str]]:
    lines: list[Sequence[str]] = []
    for name, e in metrics.items():
        interval = " \N{EN DASH} ".join(format_number(x, e.unit) for x in e.ci95 or ())
        bar = _draw_share(e.value, e.unit, e.ci95)
        lines.append((name, f"{format_number(e.value, e.unit)} {e.unit}{note}", bar, interval, f"{e.n:,}"))
    return lines


def _draw_share(value: float | None, unit: str, ends: Sequence[float] | None = None) -> str:
    """Draw a share as a bar with its interval; nothing for a number that has no whole."""
    whole = _WHOLES.get(unit)
    if whole is None or value is None or not np.isfinite(value):
        return _Markup()
    points = (ends[0], value, ends[1]) if ends else (value, value, value)
    low, middle, high = (_WIDTH * min(max(point / whole, 0.0), 1.0) for point in points)
    line = f'<line x1="{low:.1f}" x2="{high:.1f}" y1="6" y2="6" stroke="currentColor" stroke-width="2"/>'
    return _Markup(
        f'<svg role="img" width="{_WIDTH}" height="12"><title>{format_number(value, unit)} of {whole:g}</title>'
        f'<rect width="{_WIDTH}" height="12" fill="currentColor" opacity="0.12"/>'
        f'<rect width="{middle:.1f}" height="12" fill="#4c78a8"/>'
        f"{line if ends else ''}</svg>"
    )


def format_comparison(comparison: Comparison) -> str:
    """Show a comparison: the verdict as a sentence, both sides as bars, wins and losses; all texts are escaped."""
    a, b = comparison.a, comparison.b
    sides = [f"<b>{letter}</b> {escape(f'{e.model} ({e.predictions})')}" for letter, e in (("A", a), ("B", b))]
    compared = f"{len(comparison.pairing):,} rows compared, {a.recipe}@{a.version} ({a.parity})"
    notes = [*comparison.remarks, *comparison.notes]
    if comparison.unlike:
        notes.append(
            f"references or options differ in {len(comparison.unlike):,} rows: {format_ids(comparison.unlike)}"
        )
    tested: dict[str, Difference | NumberDifference] = {**comparison.metrics, **comparison.scores}
    blocks = [
        f"<p>{'<br>'.join(sides)}<br>{escape(compared)}</p>",
        f"<p><b>{escape(_describe_verdict(comparison.primary, tested.get(comparison.primary)))}</b></p>",
        _render_table(_DIFFERENCE_HEADINGS, [_build_difference_line(name, one) for name, one in tested.items()]),
    ]
    blocks += [f"<p>{'<br>'.join(map(escape, notes))}</p>"] if notes else []
    for column, values in comparison.groups.items():
        lines = []
        for value, group in values.items():
            differences: dict[str, Difference | NumberDifference] = {**group.metrics, **group.scores}
            lines += [(value, *_build_difference_line(name, one)) for name, one in differences.items()]
        table = _render_table((column, *_DIFFERENCE_HEADINGS), lines)
        blocks.append(f"<details><summary>by {escape(column)} ({len(values):,})</summary>{table}</details>")
    return f'<div class="mmscore-comparison">{"".join(blocks)}</div>'


def _describe_verdict(name: str, difference: Difference | NumberDifference | None) -> str:
    if difference is None:
        return f"{name}: not on both sides."
    unit = _read_unit(difference)
    facts = f"B - A = {_sign(difference.value, unit)}"
    if difference.ci95 is not None:
        facts += f", 95 % interval {' to '.join(_sign(x, unit) for x in difference.ci95)}"
    if difference.p is None:
        return f"{name}: no test ({difference.why_no_p or 'none was run'}); {facts}."
    facts += f", p {'' if difference.p < _SMALLEST else '= '}{_format_p_value(difference.p)}"
    if difference.p >= _LEVEL:
        return f"{name}: no difference beyond chance ({facts})."
    return f"{name}: B is {'higher' if difference.value > 0 else 'lower'} than A ({facts})."


def _build_difference_line(name: str, difference: Difference | NumberDifference) -> Sequence[str]:
    unit = _read_unit(difference)
    interval = " to ".join(_sign(x, unit) for x in difference.ci95 or ())
    test = difference.mcnemar if isinstance(difference, Difference) else None
    wins = "" if test is None else f"{test.only_b:,} : {test.only_a:,}"
    bars = _Markup("<br>".join(_draw_share(value, unit) for value in (difference.a, difference.b)))
    numbers = [format_number(value, unit) for value in (difference.a, difference.b)]
    p = difference.why_no_p or "" if difference.p is None else _format_p_value(difference.p)
    return (name, *numbers, bars, _sign(difference.value, unit), interval, p, wins)


def _read_unit(difference: Difference | NumberDifference) -> str:
    return difference.unit if isinstance(difference, NumberDifference) else "fraction"


def _sign(value: float, unit: str) -> str:
    return f"{'+' if value > 0 else ''}{format_number(value, unit)}"


def _format_p_value(p: float) -> str:
    return f"{p:.4f}" if p >= _SMALLEST else f"< {_SMALLEST}"


def _render_table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings)
    texts = ((cell if isinstance(cell, _Markup) else escape(cell) for cell in line) for line in lines)
    body = "".join(f"<tr>{''.join(f'<td>{text}</td>' for text in line)}</tr>" for line in texts)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _list_shared_first(having: Sequence[Sequence[str]]) -> list[str]:
    """List the names that entries have, first those that all of them have.

    Example:
        >>> _list_shared_first([["x", "y"], ["y", "z"]])
        ['y', 'x', 'z']
    """
    names = dict.fromkeys(name for names in having for name in names)
    return sorted(names, key=lambda name: not all(name in one for one in having))


def _check_choice(name: str | None, known: Sequence[str], kind: str) -> str:
    names = list(dict.fromkeys(known))
    if name is None and names:
        return names[0]
    if name not in names:
        hint = suggest_spelling(str(name), names) + (f" Known: {', '.join(names)}." if names else " There is none.")
        raise UsageError(f"plot: no {kind} {show(name)}.{hint}")
    return str(name)


def _draw_bars(name: str, found: dict[str, Estimate]) -> "go.Bar":
    import plotly.graph_objects as go

    drawn = dict(list(found.items())[:_MOST_VALUES])
    values = [e.value for e in drawn.values()]
    ends = [e.ci95 or (e.value, e.value) for e in drawn.values()]
    above = [high - value for value, (_, high) in zip(values, ends, strict=True)]
    below = [value - low for value, (low, _) in zip(values, ends, strict=True)]
    return go.Bar(
        # Plotly reads a little HTML in its texts.
        name=escape(name),
        x=[escape(value) for value in drawn],
        y=values,
        error_y={"type": "data", "symmetric": False, "array": above, "arrayminus": below},
        hovertext=[f"{e.n:,} rows" for e in drawn.values()],
    )
