"""`mmscore score`: predictions in, numbers out."""

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from mmconvert.console.app import EXIT_PARTIAL, OPTIONS_FILE
from mmconvert.core.errors import Error, UsageError
from mmconvert.core.text.printable import printable
from mmconvert.storage.atomic import require_apart
from mmscore.cli.estimates import show_estimates
from mmscore.cli.judge_options import judge_options
from mmscore.cli.last_words import last_words
from mmscore.cli.push_predictions import Pushing, push_predictions_options, pushed_text
from mmscore.cli.scoring_progress import scoring_progress
from mmscore.core.predictions.load import models_in
from mmscore.core.predictions.locate import located
from mmscore.core.report import Entry, Report, publish
from mmscore.core.table import Scored
from mmscore.reporting.scored_rows import RowsWriter
from mmscore.scoring.evaluate import AVERAGES, Options, kit_log, results
from mmscore.scoring.judging.request import JudgeRequest
from mmscore.scoring.scored_file import Result

_FILES = {
    "output": ("--output", "report"),
    "csv_file": ("--csv", "table"),
    "html_file": ("--html", "page"),
    "rows_file": ("--rows", "rows"),
    "log_file": ("--log", "log"),
}
"""Parameters that name a file to write -> the option, and what the last lines call it."""
_READ_SO = ("answers", "dataset", "format", "recipe_options")
"""Parameters that another command on the same files needs too."""


@click.command()
@click.argument("predictions", nargs=-1, required=True)
@click.option("--recipe", "recipes", multiple=True, metavar="NAME", help="Recipe, NAME@VERSION for a version.")
@click.option("--recipe-options", metavar="FILE", help="Options of the recipe itself, as YAML or JSON.")
@click.option("--format", metavar="NAME", help="Format of the files. [default: recognised by content]")
@click.option("--answers", metavar="DATASET", help="Dataset with the references, joined by id.")
@click.option("--dataset", metavar="NAME", help="Name of the benchmark, for files that do not say it.")
@click.option("--model", metavar="NAME", help="Name of the model, for files that do not say it.")
@click.option("--by", multiple=True, metavar="COLUMN", help="Break down by a column, or by extra.KEY.")
@click.option(
    "--average", type=click.Choice(AVERAGES), default="micro", help="Mean of rows, or of the groups of the first --by."
)
@judge_options
@click.option(
    "--dry-run",
    is_flag=True,
    help="Estimate the judge's calls and tokens, and score nothing; with --push list what would be sent.",
)
@click.option("-o", "--output", metavar="FILE", help="Write the report as JSON.")
@click.option("--csv", "csv_file", metavar="FILE", help="Write every number as a line of CSV.")
@click.option("--html", "html_file", metavar="FILE", help="Write numbers, charts and rows as one page to look at.")
@click.option(
    "--html-rows",
    type=click.IntRange(1),
    default=10_000,
    show_default=True,
    metavar="N",
    help="Most rows that the page lists, evenly spread.",
)
@click.option(
    "--html-pictures", metavar="DATASET", help="Dataset with the pictures of the page. [default: that of --answers]"
)
@click.option("--rows", "rows_file", metavar="FILE", help="Write every row with what was read in it, as parquet.")
@click.option("--log", "log_file", metavar="FILE", help="Write the log that the recipe's kit would write.")
@click.option(
    "--max-failed",
    type=click.FloatRange(0, 1),
    default=1.0,
    metavar="SHARE",
    help="Refuse a file with a larger share of rows without a score.",
)
@click.option("--allow-rejects", is_flag=True, help="Exit 0 although rows have no score.")
@push_predictions_options
@click.option(
    "--model-card", metavar="USER/MODEL", help="With --push: propose the numbers for a model's card, as a pull request."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
@click.option("--quiet", is_flag=True, help="No progress and no remarks.")
@OPTIONS_FILE
def score(
    predictions: tuple[str, ...],
    judge: JudgeRequest | None,
    dry_run: bool,
    allow_rejects: bool,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Give the number a kit would give for PREDICTIONS, with its uncertainty.

    PREDICTIONS is a parquet file of ours, a folder of them, a kit's own result file, - for standard input
    (JSON Lines, parquet), or USER/REPO[@REVISION] for parquet files on the Hub; several are models side by
    side. Without --recipe the recipe follows from dataset, task and source. --push publishes the predictions
    with their references, the report and a card with the numbers, in one commit.
    """
    options = options_of(given, judge)
    place = Pushing.checked(given, predictions, dry_run=dry_run)
    paths = [one for path in predictions for one in models_in(path)]
    if dry_run and (judge is not None or place.repo_id is None):
        _check_dry(given)
        return show_estimates(paths, given["recipes"], options, as_json=as_json)
    sent: list[Result] = []
    with scoring_progress(options, quiet=quiet) as options:
        keep = sent.append if place.repo_id is not None else lambda result: None
        report = scored(paths, given, options, then=keep)
    if as_json:
        click.echo(_text(report))
    else:
        _show(report)
    if not quiet:
        for message in dict.fromkeys(message for entry in report.entries for message in entry.messages):
            click.echo(printable(f"mmscore: {message}"), err=True)
        files = {label: given[name] for name, (_, label) in _FILES.items()}
        said = {f"--{name.replace('_', '-')}": given[name] for name in _READ_SO}
        last_words(report, files, given["recipes"], said)
    if sent:
        click.echo(pushed_text(place.scored(sent, quiet=quiet)), err=as_json)
    return 0 if report.complete or allow_rejects else EXIT_PARTIAL


def options_of(given: Mapping[str, Any], judge: JudgeRequest | None) -> Options:
    """Take how to score from the command's options by parameter name, and a judge of whom they ask."""
    return Options(
        **{name: given[name] for name in ("answers", "dataset", "by", "average", "format", "model", "recipe_options")},
        judge=judge,
        log=given["log_file"] is not None,
    )


def scored(
    paths: Sequence[str],
    given: Mapping[str, Any],
    options: Options,
    *,
    then: Callable[[Result], None] = lambda result: None,
) -> Report:
    """Do what the command does, for its options by parameter name: score, and write the files that they name.

    Args:
        paths: Places of predictions.
        given: The command's options.
        options: How to score, see `options_of`.
        then: Called with what became of each file and recipe.

    Raises:
        UsageError: A file would be written over what is read, or as `mmscore.scoring.evaluate.results`.
        Error: As there, or a file has a larger share of rows without a score than the options allow.
    """
    files = [given[name] for name in _FILES]
    require_apart(files, [*paths, *([options.answers] if options.answers else ())])
    output, csv_file, html_file, rows_file, log_file = files
    if given["html_pictures"]:
        _check_pictures(given["html_pictures"], html_file)
    entries, shown = [], []
    with contextlib.ExitStack() as stack:
        rows = stack.enter_context(RowsWriter(rows_file)) if rows_file else None
        for result in results(paths, given["recipes"], options):
            entries.append(_checked(result.entry, result.scored, rows, given["max_failed"]))
            if log_file:
                publish(log_file, kit_log(result.entry, result.scored, options).encode())
            if html_file:
                shown.append(result)
            then(result)
    report = Report(tuple(entries))
    if output:
        publish(output, _text(report).encode() + b"\n")
    if csv_file:
        publish(csv_file, report.to_csv().encode())
    if html_file:
        # Imported here: who wants no page needs neither pictures nor the page's writer.
        from mmscore.reporting.html.page import write_report

        write_report(html_file, shown, pictures=given["html_pictures"] or options.answers, most=given["html_rows"])
    return report


def _text(report: Report) -> str:
    return json.dumps(report.to_json(), ensure_ascii=False, indent=1)


def _check_dry(given: Mapping[str, Any]) -> None:
    if named := [flag for name, (flag, _) in _FILES.items() if given[name]]:
        raise UsageError(f"{', '.join(named)}: --dry-run scores nothing and writes no file. Leave one of them out.")


def _check_pictures(dataset: str, page: str | None) -> None:
    """Look whether the dataset is there before rows are scored for a page that needs it."""
    if page is None:
        raise UsageError("--html-pictures: there is no page to show them. Add --html FILE.")
    located(dataset)


def _checked(entry: Entry, scored: Scored, rows: RowsWriter | None, max_failed: float) -> Entry:
    counts = entry.counts
    if counts.unscored > max_failed * counts.total:
        found = {"failed": counts.failed, "judge_failed": counts.judge_failed, "missing": counts.missing}
        listed = ", ".join(f"{n} {fate}" for fate, n in (found | {"rejected": counts.rejected}).items() if n)
        raise Error(
            f"{entry.predictions}: {counts.unscored:,} of {counts.total:,} rows have no score ({listed}), more than "
            f"--max-failed {max_failed:g} allows. Predict them again, or allow more."
        )
    if rows is not None:
        rows.write(entry, scored)
    return entry


def _show(report: Report) -> None:
    # Loaded only where a table is printed: rich takes longer to import than a small file to score.
    from mmscore.reporting.report_table import show

    show(report)
