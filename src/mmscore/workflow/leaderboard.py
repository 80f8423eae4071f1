"""Many reports as one static page, in a folder that is a Space of the Hub as it stands."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypedDict

import msgspec

from mmconvert.core.errors import Error, UsageError
from mmconvert.storage.atomic import open_published_folder
from mmconvert.storage.source_files import watch_sources
from mmscore.analysis.rank import compute_shared_ranks
from mmscore.core.report import Entry, json_text
from mmscore.reporting.leaderboard_page import Board, Column, Line, to_csv, to_html, to_json, to_readme
from mmscore.reporting.report_json import is_report, read_report

PAGE, README, DATA, TABLE = "index.html", "README.md", "leaderboard.json", "leaderboard.csv"


class LeaderboardOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the page is called."""

    title: str = "Leaderboard"
    """Title of the page."""


class LeaderboardKeywords(TypedDict, total=False):
    """Keywords of `leaderboard`: the options of `mmscore leaderboard` by their names."""

    title: str


@watch_sources()
def write_leaderboard(reports: Path, output: Path, options: LeaderboardOptions) -> Board:
    """Gather the reports below a folder into a leaderboard, and write it as a folder.

    Args:
        reports: Folder with reports (`mmscore -o`, `mmscore run`), at any depth.
        output: The folder that shall appear, with a page, its data and the card of a Space.
        options: How.

    Raises:
        UsageError: There is no report, or the output is no new folder.
        Error: A report is damaged, or two have a score of one model, dataset and recipe.
    """
    board = build_board(_read_reports(reports), options.title)
    if not board.lines:
        raise UsageError(f"{reports}: holds no report with a score. Write some: mmscore predictions.parquet -o FILE.")
    texts = {
        PAGE: to_html(board),
        README: to_readme(board),
        DATA: json_text(to_json(board)) + "\n",
        TABLE: to_csv(board),
    }
    with open_published_folder(output) as folder:
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return board


def _read_reports(folder: Path) -> Iterable[tuple[str, Entry]]:
    if not folder.is_dir():
        raise UsageError(f"{folder}: is no folder. Name the folder below which the reports are.")
    for path in sorted(folder.rglob("*.json")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if not hidden and is_report(path):
            for entry in read_report(path):
                yield str(path), entry


def build_board(reports: Iterable[tuple[str, Entry]], title: str) -> Board:
    """Lay entries of reports out: a line a model, a column a dataset and recipe.

    Args:
        reports: Entries with the files that they stand in; their first metrics are taken.
        title: Title of the leaderboard.

    Raises:
        Error: Two entries are of one model, dataset and recipe.
    """
    cells: dict[Column, dict[str, Any]] = {}
    files: dict[tuple[str, Column], str] = {}
    for path, entry in reports:
        if entry.main_metric is None:
            continue
        metric, estimate = entry.main_metric
        column = Column(entry.dataset or Path(entry.predictions).stem, f"{entry.recipe}@{entry.version}", metric)
        if (other := files.get((entry.model, column))) is not None:
            told = f"{entry.model} has a score of {column.dataset} by {column.recipe} in {other} too"
            raise Error(f"{path}: {told}. Keep one of them below the folder.")
        files[entry.model, column] = path
        cells.setdefault(column, {})[entry.model] = estimate
    columns = sorted(cells)
    lines = {model: Line(model) for column in columns for model in cells[column]}
    for column in columns:
        known = {model: one for model, one in cells[column].items() if one.value == one.value}
        signs = [-one.value if one.higher_is_better is False else one.value for one in known.values()]
        for model, place in zip(known, compute_shared_ranks(signs), strict=True):
            lines[model].scores[column] = known[model]
            lines[model].places.append(place)
    ranked = sorted(lines.values(), key=lambda line: (len(line.places) < len(columns), line.average_place, line.model))
    return Board(title, columns, ranked)
