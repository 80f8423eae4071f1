"""`mmscore score`: predictions in, numbers out."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click
from msgspec.structs import replace

from mmconvert.console.app import EXIT_PARTIAL, OPTIONS_FILE
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmconvert.console.summary import close, format_command
from mmconvert.core.errors import UsageError
from mmconvert.storage.source_files import watch_sources
from mmscore.cli.shared import (
    describe_fields,
    judge_options,
    push_options,
    pushed_text,
    recipe_option,
    request_of,
    scoring_progress,
    show_estimates,
    show_notes,
)
from mmscore.core.predictions.load import list_model_folders
from mmscore.core.predictions.locate import STDIN
from mmscore.core.report import Report, json_text
from mmscore.reporting.publish import HubOptions, push_results
from mmscore.reporting.report_table import format_lines, show
from mmscore.scoring.judging.request import JudgeOptions
from mmscore.scoring.scored_file import Result
from mmscore.workflow.score import ReportOptions, score_to_files

_CALLED = {"output": "report", "csv": "table", "html": "page", "rows": "rows", "log_file": "log"}
"""Option that names a file to write -> what the last lines call it."""
_READ_SO = ("answers", "allow_mismatch", "benchmark", "dataset", "format", "recipe_options")
"""Options that another command on the same files needs too."""


def _judge_and_dry_run(command: Any) -> Any:
    dry_run = click.option(
        "--dry-run",
        is_flag=True,
        help="Estimate the judge's requests and tokens and score nothing; with --push list what would be uploaded.",
    )
    return judge_options(dry_run(command))


@click.command(cls=GroupedCommand)
@click.argument("predictions", nargs=-1, required=True)
@recipe_option
@add_struct_options(
    ReportOptions,
    describe_fields(
        ReportOptions, average={"show_default": None}, max_failed={"metavar": "SHARE", "show_default": None}
    ),
    without=["judge", "progress"],
    before={"output": _judge_and_dry_run},
)
@push_options()
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--verbose", is_flag=True, help="Also print every metric, group and the full signature.")
@click.option("--quiet", is_flag=True, help="Print one line per result, no progress and no notes.")
@OPTIONS_FILE
@watch_sources()
def score(
    predictions: tuple[str, ...],
    recipes: tuple[str, ...],
    judge: JudgeOptions,
    dry_run: bool,
    as_json: bool,
    verbose: bool,
    quiet: bool,
    options: ReportOptions,
    hub: HubOptions,
) -> int:
    """Score PREDICTIONS as their framework does, with confidence intervals.

    PREDICTIONS is a predictions file of `mmscore predict`, a folder of them, a result file of a framework, - for
    standard input (JSON Lines, parquet), or USER/REPO[@REVISION] on the Hub. Several files are models side by side.
    --push uploads predictions, references, report and a card with the scores in one commit.
    """
    options = replace(options, judge=request_of(judge, quiet=quiet))
    hub = replace(hub, dry_run=dry_run)
    hub.check(predictions)
    paths = [one for path in predictions for one in list_model_folders(path)]
    if dry_run and (options.judge is not None or hub.push is None):
        if named := [f"--{name}" for name in options.files()]:
            raise UsageError(f"{', '.join(named)}: --dry-run scores nothing and writes no file. Leave one of them out.")
        return show_estimates(paths, recipes, options, as_json=as_json)
    sent: list[Result] = []
    with scoring_progress(options, quiet=quiet) as watched:
        keep = sent.append if hub.push is not None else lambda result: None
        report = score_to_files(paths, recipes, watched, then=keep)
    if as_json:
        click.echo(json_text(report.to_json()))
    elif quiet:
        click.echo("\n".join(format_lines(report)))
    else:
        show(report, verbose=verbose, by=options.by)
    if not quiet:
        show_notes(message for entry in report.entries for message in entry.messages)
        # Places and the next step, where files were written or somebody watches.
        files = {label: getattr(options, name) for name, label in _CALLED.items()}
        if any(files.values()) or (sys.stderr is not None and sys.stderr.isatty()):
            said = {f"--{name.replace('_', '-')}": getattr(options, name) for name in _READ_SO}
            close({**files, "next": _next(report, recipes, said, page=files.get("page"))}, err=True)
    if sent:
        click.echo(pushed_text(push_results(sent, hub, quiet=quiet)), err=as_json)
    return 0 if report.complete or options.allow_rejects else EXIT_PARTIAL


def _next(
    report: Report, asked: Sequence[str], options: Mapping[str, str | bool | None], *, page: str | None
) -> str | None:
    """Name the command that tells how files differ, or why one has its number."""
    files = list(dict.fromkeys(entry.predictions for entry in report.entries))
    found = list(dict.fromkeys(entry.recipe for entry in report.entries))
    datasets = {entry.dataset for entry in report.entries if entry.dataset is not None}
    # Where each file has a recipe of its own, none is of all.
    recipes = list(dict.fromkeys(asked)) or (found if len(found) == 1 else [])
    alike = bool(recipes) and len(datasets) < 2
    # No other command takes references from the catalogue.
    if STDIN in files or options["--benchmark"] or (len(files) > 2 and page) or (len(files) == 2 and not alike):
        return None
    given = [word for name, value in options.items() if value for word in (name, value) if isinstance(word, str)]
    if len(files) > 2:
        return format_command("mmscore", *files, *_each("--recipe", recipes), *given, "--html", "report.html")
    verb, most = ("compare", 1) if len(files) == 2 else ("explain", 2)
    return format_command("mmscore", verb, *files, *_each("--recipe", recipes[:most]), *given)


def _each(option: str, values: Sequence[str]) -> list[str]:
    return [word for value in values for word in (option, value)]
