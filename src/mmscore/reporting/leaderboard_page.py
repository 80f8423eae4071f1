"""A leaderboard as a static page, as data, and as the card of a Space on the Hub."""

import math
from html import escape
from typing import Any

import msgspec

from mmconvert.core.text.csv_injection import write_safe_csv
from mmscore.core.estimates import Estimate
from mmscore.reporting.console_table import format_score

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem;color:#1a1a1a;background:#fff}"
    "h1{overflow-wrap:anywhere}"
    "div{overflow-x:auto}table{border-collapse:collapse}th,td{padding:.35rem .8rem;border-bottom:1px solid #ddd}"
    "th,td:first-child,td:nth-child(2){text-align:left}td{text-align:right;font-variant-numeric:tabular-nums}"
    "th small{display:block;font-weight:normal;color:#666}.best{font-weight:bold}"
    "@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}th,td{border-color:#444}th small{color:#aaa}}"
)
_NONE = "-"


class Column(msgspec.Struct, frozen=True, order=True):
    """A dataset under one recipe.

    Attributes:
        dataset: The dataset.
        recipe: The recipe and its version.
        metric: The recipe's first metric.
    """

    dataset: str
    recipe: str
    metric: str


class Line(msgspec.Struct):
    """A model.

    Attributes:
        model: The model.
        scores: Its scores by column; one that it lacks is missing.
        places: Its place in each of these columns, from 1; equal scores share the mean of theirs.
    """

    model: str
    scores: dict[Column, Estimate] = msgspec.field(default_factory=dict)
    places: list[float] = msgspec.field(default_factory=list)

    @property
    def average_place(self) -> float:
        """Average the places; infinite for a model without any."""
        return math.fsum(self.places) / len(self.places) if self.places else math.inf


class Board(msgspec.Struct, frozen=True):
    """A leaderboard.

    Attributes:
        title: Its title.
        columns: Datasets under recipes, by name.
        lines: Models: those with a score in every column first, then by average place.
    """

    title: str
    columns: list[Column]
    lines: list[Line]

    def is_complete(self, line: Line) -> bool:
        """Tell whether a model has a score in every column."""
        return len(line.scores) == len(self.columns)


def to_json(board: Board) -> dict[str, Any]:
    """Give the leaderboard as JSON values."""
    return {
        "title": board.title,
        "columns": [msgspec.to_builtins(column) for column in board.columns],
        "models": [
            {
                "model": line.model,
                "average_place": line.average_place if line.places else None,
                "complete": board.is_complete(line),
                "scores": [_build_score(line.scores.get(column)) for column in board.columns],
            }
            for line in board.lines
        ],
    }


def _build_score(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    ci95 = None if estimate.ci95 is None else [*estimate.ci95]
    return {"value": estimate.value, "unit": estimate.unit, "n": estimate.n, "ci95": ci95}


def to_csv(board: Board) -> str:
    """Give the leaderboard as CSV, a line a model; values have all their digits."""
    heads = [f"{column.dataset} {column.recipe} {column.metric}" for column in board.columns]
    lines: list[list[Any]] = [["model", "average place", *heads]]
    for line in board.lines:
        values = [line.scores[column].value if column in line.scores else "" for column in board.columns]
        lines.append([line.model, line.average_place if line.places else "", *values])
    return write_safe_csv(lines)


def to_html(board: Board) -> str:
    """Give the leaderboard as a page without a script."""
    heads = "".join(
        f"<th>{escape(column.dataset)}<small>{escape(column.recipe)}, {escape(column.metric)}</small></th>"
        for column in board.columns
    )
    best = {
        column: min((place for line in board.lines for place in [_find_place(line, column)] if place), default=None)
        for column in board.columns
    }
    lines = "\n".join(_build_row(number, line, board, best) for number, line in enumerate(board.lines, 1))
    notes = (
        "<p>Ordered by average place. Scores have 95 % confidence intervals. "
        "* lacks a score that another model has.</p>"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(board.title)}</title><style>{_STYLE}</style></head><body><h1>{escape(board.title)}</h1>\n"
        f"{notes}<div><table><thead><tr><th>#</th><th>model</th><th>average place</th>{heads}</tr></thead><tbody>\n"
        f"{lines}\n</tbody></table></div></body></html>\n"
    )


def _find_place(line: Line, column: Column) -> float | None:
    found = dict(zip(line.scores, line.places, strict=True))
    return found.get(column)


def _build_row(number: int, line: Line, board: Board, best: dict[Column, float | None]) -> str:
    mark = "" if board.is_complete(line) else " *"
    place = f"{line.average_place:.2f}" if line.places else _NONE
    cells = []
    for column in board.columns:
        estimate = line.scores.get(column)
        text = _NONE if estimate is None else format_score(estimate)
        is_best = estimate is not None and _find_place(line, column) == best[column]
        cells.append(f"<td{' class=best' if is_best else ''}>{escape(text)}</td>")
    return f"<tr><td>{number}</td><td>{escape(line.model)}{mark}</td><td>{place}</td>{''.join(cells)}</tr>"


def to_readme(board: Board) -> str:
    """Give the card of a static Space whose page is the leaderboard."""
    title = msgspec.json.encode(board.title).decode()  # JSON is YAML
    return (
        f"---\ntitle: {title}\nsdk: static\napp_file: index.html\npinned: false\n---\n\n"
        f"# {board.title}\n\n"
        f"{len(board.lines)} models, {len(board.columns)} scores each, by mmscore. "
        "The numbers are in `leaderboard.csv` and `leaderboard.json`.\n"
    )
