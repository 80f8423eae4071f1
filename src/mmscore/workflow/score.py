"""Score predictions and write the files that a report is asked to be in."""

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from mmconvert.core.errors import Error, UsageError
from mmconvert.core.progress import print_message
from mmconvert.storage.atomic import require_apart
from mmconvert.storage.source_files import watch_sources
from mmscore.core.predictions.locate import locate_predictions
from mmscore.core.recipe import Recipe
from mmscore.core.report import Entry, Report, json_text, publish
from mmscore.reporting.html.page import MOST_ITEMS, PageOptions, write_report
from mmscore.reporting.html.settings import format_score_command
from mmscore.reporting.scored_rows import RowsWriter
from mmscore.reporting.track import TRACKERS, choose_trackers, log_scores
from mmscore.reporting.tracker import PROJECT, Tracker
from mmscore.scoring.evaluate import ScoreKeywords, ScoreOptions, format_kit_log, score_results
from mmscore.scoring.scored_file import Result


class ReportOptions(ScoreOptions, frozen=True, kw_only=True):
    """How to score, and which files the report goes to."""

    output: str | None = None
    """Write the report as JSON to this file."""
    csv: str | None = None
    """Write every score as a row of this CSV file."""
    html: str | None = None
    """Write the report as one HTML page with charts and samples."""
    html_rows: Annotated[int, msgspec.Meta(ge=1)] = MOST_ITEMS
    """Maximum number of samples listed on the page, evenly spread."""
    html_pictures: str | None = None
    """Dataset with the images for the page. [default: that of --answers]"""
    rows: str | None = None
    """Write one row per sample with its parsed answer and score to this parquet file."""
    log: tuple[str, ...] = ()
    """Log the scores to wandb, trackio, mlflow or tensorboard; any other value is a FILE for the log that the recipe's
    framework would write. Repeatable."""
    log_project: str = PROJECT
    """Project or experiment of the tracker that --log names."""
    max_failed: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0
    """Maximum share of samples without a score; more is an error."""
    allow_rejects: bool = False
    """Exit with 0 although samples have no score."""

    def files(self) -> dict[str, str]:
        """Give the files to write, by the name of their field."""
        named = {name: getattr(self, name) for name in ("output", "csv", "html", "rows")} | {"log": self.log_file}
        return {name: file for name, file in named.items() if file}

    @property
    def log_file(self) -> str | None:
        """Give the file for the framework's log, None for none."""
        return next((name for name in self.log if name not in TRACKERS), None)

    def choose_trackers(self) -> list[Tracker]:
        """Find the trackers that `log` names.

        Raises:
            UsageError: One is not installed, or `log` names several files.
        """
        files = [name for name in dict.fromkeys(self.log) if name not in TRACKERS]
        if len(files) > 1:
            raise UsageError(f"--log: a framework's log is one file, found: {', '.join(files)}. Name one.")
        return choose_trackers([name for name in self.log if name in TRACKERS])


class ReportKeywords(ScoreKeywords, total=False):
    """Keywords of `score`: the options of `mmscore score` by their names."""

    output: str | Path | None
    csv: str | Path | None
    html: str | Path | None
    html_rows: int
    html_pictures: str | Path | None
    rows: str | Path | None
    log: str | Sequence[str]
    log_project: str
    max_failed: float


@watch_sources()
def score_to_files(
    paths: Sequence[str | Path],
    recipes: Sequence[str | Recipe],
    options: ReportOptions,
    *,
    then: Callable[[Result], None] = lambda result: None,
) -> Report:
    """Score predictions and write the files that the options name.

    Args:
        paths: Predictions files.
        recipes: Names of recipes; none takes the one that fits each file.
        options: How to score, and where to.
        then: Called with the status of each file and recipe.

    Returns:
        The report, without the rows behind it.

    Raises:
        UsageError: A file would be written over what is read, or as `mmscore.scoring.evaluate.results`.
        Error: As there, or a file has a larger share of rows without a score than the options allow.
    """
    trackers = options.choose_trackers()
    require_apart([*options.files().values()], [*paths, *([options.answers] if options.answers else ())])
    if options.html_pictures:
        # Looked for before rows are scored for a page that needs it.
        if options.html is None:
            raise UsageError("--html-pictures: there is no page to show them. Add --html FILE.")
        locate_predictions(options.html_pictures)
    entries, shown, tracked = [], [], []
    with contextlib.ExitStack() as stack:
        rows = stack.enter_context(RowsWriter(options.rows)) if options.rows else None
        for result in score_results(paths, recipes, options, log=options.log_file is not None):
            entries.append(result.entry)
            _require_scores(result.entry, options.max_failed)
            if rows is not None:
                rows.write(result.entry, result.scored)
            if trackers:
                tracked.append((result.entry, result.rows.run))
            if options.log_file:
                publish(options.log_file, format_kit_log(result).encode())
            if options.html:
                shown.append(result)
            then(result)
    report = Report(tuple(entries))
    if options.output:
        publish(options.output, json_text(report.to_json()).encode() + b"\n")
    if options.csv:
        publish(options.csv, report.to_csv().encode())
    if options.html:
        write_report(options.html, shown, _describe_page(paths, recipes, options))
    log_scores(trackers, tracked, options.log_project, lambda line: print_message(f"mmscore: {line}"))
    return report


def _describe_page(paths: Sequence[str | Path], recipes: Sequence[str | Recipe], options: ReportOptions) -> PageOptions:
    names = [] if options.judge is None else options.judge.names
    return PageOptions(
        images=options.html_pictures or options.answers,
        required=options.html_pictures is not None,
        most=options.html_rows,
        command=format_score_command(paths, recipes, options, judge=names),
        workers=options.workers,
    )


def _require_scores(entry: Entry, max_failed: float) -> None:
    counts = entry.counts
    if counts.unscored > max_failed * counts.total:
        found = {"failed": counts.failed, "judge_failed": counts.judge_failed, "missing": counts.missing}
        listed = ", ".join(f"{n} {fate}" for fate, n in (found | {"rejected": counts.rejected}).items() if n)
        raise Error(
            f"{entry.predictions}: {counts.unscored:,} of {counts.total:,} rows have no score ({listed}), more than "
            f"--max-failed {max_failed:g} allows. Predict them again, or allow more."
        )
