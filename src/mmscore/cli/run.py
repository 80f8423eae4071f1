"""`mmscore run`: datasets x models x recipes, from one file."""

import contextlib
import json
import sys

import click

from mmconvert.console.app import EXIT_PARTIAL, EXIT_REFUSED
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmconvert.console.summary import close, format_command
from mmconvert.core.text.printable import escape_control
from mmconvert.core.text.yaml import read_mapping_file
from mmscore.workflow.run import LOG, REPORT, Results, RunOptions, require_numbers, run_plan, write_pages
from mmscore.workflow.task_file import Plan, build_plan
from mmscore.workflow.task_readers import Outcome, find_reader


@click.command(cls=GroupedCommand)
@click.argument("task", type=click.Path(exists=True, dir_okay=False))
@add_struct_options(RunOptions, {"work_dir": {"metavar": "DIR"}})
@click.option("--dry-run", is_flag=True, help="Check the file and print the plan; run nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Print no progress.")
def run(task: str, dry_run: bool, as_json: bool, quiet: bool, options: RunOptions) -> int:
    """Run every model of TASK on every dataset and score the predictions.

    TASK is a YAML or JSON file with datasets, models, recipes, and the options of convert, predict and score under
    their own names (docs/run.md), or a task file of a framework (docs/kits.md). Results go to DIR/MODEL/DATASET/:
    predictions.parquet, report.json, report.csv and log.txt. An interrupted run continues when the command is run
    again. A run that fails does not stop the others.

    Exit code 3: some samples or runs have no result; 1: none has one.
    """
    given = read_mapping_file(task)
    plan = build_plan(given, options.work_dir, task)
    if options.html:
        require_numbers(plan, task)
    if dry_run:
        click.echo(_plan_text(plan, as_json=as_json))
        return 0
    done, out = [], sys.stdout
    kept: Results | None = {} if options.html else None
    # What a plug-in prints, or a cluster, must not stand between the lines that a program reads here.
    with contextlib.redirect_stdout(sys.stderr):
        for outcome in run_plan(plan, restart=options.restart, quiet=quiet, kept=kept):
            done.append(outcome)
            if not as_json:
                click.echo(escape_control(_sentence(outcome)), file=out)
    if as_json:
        click.echo(json.dumps({"work_dir": str(plan.work_dir), "runs": [o.to_json() for o in done]}))
    elif (reader := find_reader(given)) is not None and (text := reader.shown(given, done)):
        click.echo(escape_control(text))
    with contextlib.redirect_stdout(sys.stderr):
        lacking = [] if kept is None else write_pages(plan, kept)
    for error in lacking:
        click.echo(escape_control(f"mmscore: {error}"), err=True)
    if not (as_json or quiet):
        again = format_command("mmscore", "run", task, *(["--work-dir", options.work_dir] if options.work_dir else []))
        # Datasets by their names here: a report need not know its own. A name is for a report of one recipe.
        reports = [f"{outcome.dataset}={outcome.folder / REPORT}" for outcome in done]
        ranked = len(plan.models) > 1 and all(len(outcome.scores or ()) == 1 for outcome in done)
        following = format_command("mmscore", "rank", "--by", "dataset", *reports) if ranked else None
        if any(outcome.status != "ok" for outcome in done):
            following = f"{again}  (runs what has no response yet; {plan.work_dir}/*/*/{LOG} has the reasons)"
        close({"results": f"{plan.work_dir}/MODEL/DATASET", "next": following}, err=True)
    if all(outcome.status == "ok" for outcome in done) and not lacking:
        return 0
    return EXIT_REFUSED if all(outcome.error is not None for outcome in done) else EXIT_PARTIAL


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
