"""`mmscore run`: datasets x models x recipes, from one file."""

import contextlib
import json
import os
import sys

import click

from mmconvert.console.app import EXIT_PARTIAL, EXIT_REFUSED
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmconvert.console.summary import close, format_command
from mmconvert.core.errors import UsageError
from mmconvert.core.text.printable import escape_control
from mmconvert.core.text.yaml import read_mapping_file
from mmscore.core.report import publish
from mmscore.reporting.summary_table import show
from mmscore.reporting.track import choose_trackers
from mmscore.workflow.named import NamedRun, build_task, format_first_task
from mmscore.workflow.run import (
    LOG,
    REPORT,
    SUMMARY,
    Results,
    RunOptions,
    log_outcome,
    require_numbers,
    run_plan,
    write_pages,
    write_summary,
)
from mmscore.workflow.task_file import PREDICT, Plan, build_plan
from mmscore.workflow.task_readers import Outcome, find_reader


@click.command(cls=GroupedCommand)
@click.argument("task", type=click.Path(exists=True, dir_okay=False), required=False)
@add_struct_options(
    NamedRun,
    {name: {"metavar": "NAME"} for name in ("benchmark", "model", "backend", "also")}
    | {"base_url": {"metavar": "URL"}, "serve": {"metavar": "COMMAND"}},
    into="named",
)
@add_struct_options(
    RunOptions,
    {"work_dir": {"metavar": "DIR", "short": "-w"}, "log": {"metavar": "TRACKER"}, "log_project": {"metavar": "NAME"}},
)
@click.option("--init", metavar="FILE", help="Write a commented task file of what is named, and run nothing.")
@click.option("--dry-run", is_flag=True, help="Check the file and print the plan; run nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Print no progress.")
def run(
    task: str | None,
    init: str | None,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    named: NamedRun,
    options: RunOptions,
) -> int:
    r"""Run every model on every dataset and score the predictions.

    \b
      mmscore run TASK --work-dir DIR
      mmscore run --benchmark NAME --model MODEL --work-dir DIR

    TASK is a YAML or JSON file with datasets, models, recipes, and the options of convert, predict and score under
    their own names (docs/run.md), or a task file of a framework (docs/kits.md). Without TASK, benchmarks are run by
    their names, each under the rule of its framework. Results go to DIR/MODEL/DATASET/: predictions.parquet,
    report.json, report.csv and log.txt; DIR/summary.html, .json and .csv hold one score of each. An interrupted run
    continues when the command is run again. A run that fails does not stop the others.

    Exit code 3: some samples or runs have no result; 1: none has one.
    """
    trackers = choose_trackers(options.log)
    if task is not None and named != NamedRun():
        raise UsageError("TASK names datasets and models itself. Leave out TASK, or the options that name them.")
    if init is not None:
        return _write_first_task(init, named)
    given = build_task(named) if task is None else read_mapping_file(task)
    where = task or "the command line"
    plan = build_plan(given, options.work_dir, where)
    if options.html:
        require_numbers(plan, where)
    if dry_run:
        click.echo(_plan_text(plan, as_json=as_json))
        return 0
    done, out = [], sys.stdout
    kept: Results | None = {} if options.html else None
    # What a plug-in prints, or a cluster, must not stand between the lines that a program reads here.
    runs = run_plan(plan, restart=options.restart, quiet=quiet, kept=kept)
    with contextlib.redirect_stdout(sys.stderr), contextlib.closing(runs):
        for outcome in runs:
            done.append(outcome)
            log_outcome(outcome, trackers, options.log_project)
            if not as_json:
                click.echo(escape_control(_sentence(outcome)), file=out)
    if as_json:
        click.echo(json.dumps({"work_dir": str(plan.work_dir), "runs": [o.to_json() for o in done]}))
    elif (reader := find_reader(given)) is not None and (text := reader.shown(given, done)):
        click.echo(escape_control(text))
    with contextlib.redirect_stdout(sys.stderr):
        lacking = [] if kept is None else write_pages(plan, kept)
        summary = write_summary(plan, done) if plan.steps != PREDICT else None
    if summary is not None and not as_json and find_reader(given) is None:
        show(*summary)
    for error in lacking:
        click.echo(escape_control(f"mmscore: {error}"), err=True)
    if not (as_json or quiet):
        again = _format_again(task, options)
        # Datasets by their names here: a report need not know its own. A name is for a report of one recipe.
        reports = [f"{outcome.dataset}={outcome.folder / REPORT}" for outcome in done]
        ranked = len(plan.models) > 1 and all(len(outcome.scores or ()) == 1 for outcome in done)
        following = format_command("mmscore", "rank", "--by", "dataset", *reports) if ranked else None
        if any(outcome.status != "ok" for outcome in done):
            following = f"{again}  (runs what has no response yet; {plan.work_dir}/*/*/{LOG} has the reasons)"
        results = f"{plan.work_dir}/MODEL/DATASET" + ("" if summary is None else f", {plan.work_dir}/{SUMMARY}.html")
        close({"results": results, "next": following}, err=True)
    if all(outcome.status == "ok" for outcome in done) and not lacking:
        return 0
    return EXIT_REFUSED if all(outcome.error is not None for outcome in done) else EXIT_PARTIAL


def _write_first_task(file: str, named: NamedRun) -> int:
    if os.path.exists(file):
        raise UsageError(f"--init {file}: exists. Name a new file.")
    publish(file, format_first_task(named).encode())
    close({"written": file, "next": format_command("mmscore", "run", file, "--work-dir", "runs")}, err=True)
    return 0


def _format_again(task: str | None, options: RunOptions) -> str:
    if task is None:
        return "the same command"
    return format_command("mmscore", "run", task, *(["--work-dir", options.work_dir] if options.work_dir else []))


def _sentence(outcome: Outcome) -> str:
    where = f"{outcome.model} / {outcome.dataset}"
    if outcome.error is not None:
        return f"{where}: failed: {outcome.error}"
    shown = [
        f"{recipe}: "
        + ", ".join(f"{name} {'-' if value is None else format(value, '.4g')}" for name, value in values.items())
        for recipe, values in (outcome.scores or {}).items()
    ]
    lacking = f", {outcome.failed:,} failed" if outcome.failed else ""
    return "\n  ".join([f"{where}: {outcome.rows:,} rows{lacking}", *shown])


def _plan_text(plan: Plan, *, as_json: bool) -> str:
    pairs = [(model, task) for model in plan.models for task in plan.datasets]
    if as_json:
        runs = [
            {"model": model.name, "dataset": task.name, "folder": str(plan.work_dir / model.name / task.name)}
            | {"recipes": list(task.recipes), "convert": task.conversion is not None}
            for model, task in pairs
        ]
        return json.dumps({"work_dir": str(plan.work_dir), "runs": runs})
    lines = [f"{len(pairs)} runs in {plan.work_dir}:"]
    for model, task in pairs:
        recipes = ", ".join(task.recipes) or "the recipe that fits"
        source = task.input if task.conversion is None else f"{task.input} (converted first)"
        asked = f"{model.options.plugin} {model.options.model}"
        lines.append(f"  {model.name}/{task.name}: {asked} on {source}, {recipes}")
    return escape_control("\n".join(lines))
