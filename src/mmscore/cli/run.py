"""`mmscore run`: datasets x models x recipes, from one file."""

import contextlib
import io
import json
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec.structs import replace

from mmconvert.console.app import EXIT_PARTIAL, EXIT_REFUSED, mapping_file
from mmconvert.console.summary import close, command
from mmconvert.core.errors import Error, UsageError
from mmconvert.core.text.printable import printable
from mmconvert.dataset.dataset import Dataset
from mmscore.cli.judge_options import judge_request
from mmscore.cli.score import options_of, scored
from mmscore.compat.task_files import shown
from mmscore.infer import session
from mmscore.infer.predictions_file import RUN_METADATA, interrupted
from mmscore.llm.response_cache import OK
from mmscore.scoring.evaluate import Options
from mmscore.scoring.scored_file import Result
from mmscore.workflow.prepare import OpenedModel, PreparedDataset
from mmscore.workflow.task_file import ALL, PREDICT, SCORE, DatasetTask, ModelTask, Plan, plan_of

PREDICTIONS, REPORT, TABLE, LOG = "predictions.parquet", "report.json", "report.csv", "log.txt"
CONVERTED = ".datasets"
"""Folder in the work folder for what is converted; no model's folder begins with a dot."""
_LOG_WIDTH = 160

Results = dict[str, list[Result]]
"""What stands behind the reports of each dataset, by its name; models in the order of the plan."""


@dataclass(slots=True)
class Outcome:
    """What became of a model's answers to a dataset.

    Attributes:
        model: The model's folder.
        dataset: The dataset's folder.
        folder: Where the files lie.
        rows: Rows of the predictions file.
        failed: Rows of it without a reply.
        rejected: The dataset lacks rows that were refused, or rows have no score.
        error: Why there is no report; None where there is one.
        scores: Value of each metric by recipe.
    """

    model: str
    dataset: str
    folder: Path
    rows: int = 0
    failed: int = 0
    rejected: bool = False
    error: str | None = None
    scores: Mapping[str, Mapping[str, float | None]] | None = None

    @property
    def status(self) -> str:
        """`failed` without a report, `partial` with rows that lack a reply or score, else `ok`."""
        return "failed" if self.error is not None else "partial" if self.failed or self.rejected else "ok"

    def to_json(self) -> dict[str, Any]:
        """Give the object that `--json` prints for it."""
        about = {"model": self.model, "dataset": self.dataset, "folder": str(self.folder), "status": self.status}
        return {**about, "rows": self.rows, "failed": self.failed, "error": self.error, "scores": self.scores or {}}


@click.command()
@click.argument("task", type=click.Path(exists=True, dir_okay=False))
@click.option("--work-dir", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Where results go.")
@click.option("--restart", is_flag=True, help="Forget the stored answers and ask every row again.")
@click.option(
    "--html", "as_pages", is_flag=True, help="Write DIR/DATASET.html too: all models and recipes side by side."
)
@click.option("--dry-run", is_flag=True, help="Check the file and show the plan; convert, ask and score nothing.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.option("--quiet", is_flag=True, help="No progress.")
def run(
    task: str, work_dir: Path | None, restart: bool, as_pages: bool, dry_run: bool, as_json: bool, quiet: bool
) -> int:
    """Ask every model of TASK about every dataset and score the replies, as its recipes say.

    TASK is a YAML or JSON file: datasets, models, recipes, and the options of convert, predict and score under
    their own names (docs/run.md), or a task file of a kit (docs/kits.md). DIR gets MODEL/DATASET/ with
    predictions.parquet, report.json, report.csv and log.txt. The same command goes on where a run stopped; what
    fails does not keep the rest from its turn.

    Exit code 3: some rows or some runs have no result, the others have; 1: none has one.
    """
    given = mapping_file(task)
    plan = plan_of(given, work_dir, task)
    if as_pages and plan.steps == PREDICT:
        raise UsageError(f"{task} steps: {PREDICT} gives no numbers for the pages of --html. Leave one of them out.")
    if dry_run:
        click.echo(_plan_text(plan, as_json=as_json))
        return 0
    done, out = [], sys.stdout
    kept: Results | None = {} if as_pages else None
    # What a plug-in prints, or a cluster, must not stand between the lines that a program reads here.
    with contextlib.redirect_stdout(sys.stderr):
        for outcome in outcomes(plan, restart=restart, quiet=quiet, kept=kept):
            done.append(outcome)
            if not as_json:
                click.echo(printable(_sentence(outcome)), file=out)
    if as_json:
        click.echo(json.dumps({"work_dir": str(plan.work_dir), "runs": [o.to_json() for o in done]}))
    elif text := shown(given, done):
        click.echo(printable(text))
    with contextlib.redirect_stdout(sys.stderr):
        lacking = [] if kept is None else _write_pages(plan, kept)
    for error in lacking:
        click.echo(printable(f"mmscore: {error}"), err=True)
    if not (as_json or quiet):
        again = command("mmscore", "run", task, *(["--work-dir", work_dir] if work_dir else []))
        close(_places(plan, done, again), err=True)
    if all(outcome.status == "ok" for outcome in done) and not lacking:
        return 0
    return EXIT_REFUSED if all(outcome.error is not None for outcome in done) else EXIT_PARTIAL


def _places(plan: Plan, done: Sequence[Outcome], again: str) -> dict[str, str | None]:
    # Datasets by their names here: a report need not know its own. A name is for a report of one recipe.
    reports = [f"{outcome.dataset}={outcome.folder / REPORT}" for outcome in done]
    ranked = len(plan.models) > 1 and all(len(outcome.scores or ()) == 1 for outcome in done)
    following = command("mmscore", "rank", "--by", "dataset", *reports) if ranked else None
    if any(outcome.status != "ok" for outcome in done):
        following = f"{again}  (asks what has no reply yet; {plan.work_dir}/*/*/{LOG} says why)"
    return {"results": f"{plan.work_dir}/MODEL/DATASET", "next": following}


def outcomes(
    plan: Plan, *, restart: bool = False, quiet: bool = False, kept: Results | None = None
) -> Iterator[Outcome]:
    """Carry a plan out, run after run.

    Args:
        plan: What to ask whom.
        restart: Forget the stored answers.
        quiet: No progress.
        kept: Takes the results behind the reports; None to keep none.

    Yields:
        What became of each model's answers to each dataset; what fails does not keep the rest from its turn.
    """
    prepared = {
        task.name: PreparedDataset(task, plan.work_dir / CONVERTED / task.name, quiet) for task in plan.datasets
    }
    for model in plan.models:
        opened = OpenedModel(model, quiet)
        for task in plan.datasets:
            folder = plan.work_dir / model.name / task.name
            folder.mkdir(parents=True, exist_ok=True)
            outcome = Outcome(model.name, task.name, folder)
            work = partial(
                _carry_out, plan, prepared[task.name], opened, outcome, restart=restart, quiet=quiet, kept=kept
            )
            outcome.error = _apart(folder, work)
            yield outcome


def _apart(folder: Path, work: Callable[[], None]) -> str | None:
    """Do what must not keep the rest from its turn, and tell what went wrong; a bug leaves its traceback in the log."""
    try:
        work()
    except Error as error:
        _log(folder, f"failed: {error}")
        return str(error)
    except Exception as error:
        _log(folder, f"failed:\n{traceback.format_exc()}")
        return f"{type(error).__name__}: {error}. This is a bug; {folder / LOG} says where."
    return None


def _carry_out(
    plan: Plan,
    prepared: PreparedDataset,
    opened: OpenedModel,
    outcome: Outcome,
    *,
    restart: bool,
    quiet: bool,
    kept: Results | None,
) -> None:
    folder = outcome.folder
    if plan.steps == SCORE:
        _take(outcome)
    else:
        before = _stamp(folder / PREDICTIONS)
        try:
            rows = prepared.rows()
            outcome.rejected = prepared.rejected
            _predict(rows, opened, prepared.task, outcome, restart=restart, quiet=quiet)
        finally:
            if _stamp(folder / PREDICTIONS) != before:
                # Those that stand there are of other replies.
                _remove(folder / REPORT, folder / TABLE, _page(plan, prepared.task))
    if plan.steps != PREDICT:
        _remove(folder / REPORT, folder / TABLE)
        _score(plan, opened.task, prepared.task, outcome, kept)


def _stamp(file: Path) -> tuple[int, int] | None:
    """Tell a file from the one that takes its place."""
    return (file.stat().st_ino, file.stat().st_mtime_ns) if file.is_file() else None


def _remove(*files: Path) -> None:
    for file in files:
        file.unlink(missing_ok=True)


def _page(plan: Plan, task: DatasetTask) -> Path:
    return plan.work_dir / f"{task.name}.html"


def _predict(
    rows: Dataset, opened: OpenedModel, task: DatasetTask, outcome: Outcome, *, restart: bool, quiet: bool
) -> None:
    output = outcome.folder / PREDICTIONS
    limit = task.limit if task.limit is not None else opened.task.options.limit
    digest = opened.digest(rows, limit)
    if not restart and _stands(output, digest):
        outcome.rows = pq.read_metadata(output).num_rows
        _log(outcome.folder, f"{PREDICTIONS} stands, {outcome.rows:,} rows")
        return
    given = msgspec.structs.replace(opened.task.options, limit=limit, resume=not restart, restart=restart)
    if given.several:
        summary = session.predict_here(rows.path, output, given, quiet=quiet, task=digest)
    else:
        summary = session.predict_with(rows, output, opened.backend, given, quiet=quiet, task=digest)
    outcome.rows, outcome.failed = summary.rows, summary.failed
    counts = f"{summary.rows:,} rows, {summary.asked:,} asked, {summary.reused:,} reused, {summary.failed:,} failed"
    _log(outcome.folder, f"{PREDICTIONS}: {counts}, {summary.seconds:.1f} s")


def _take(outcome: Outcome) -> None:
    """Take the replies that stand; those that are missing count as failed."""
    output = outcome.folder / PREDICTIONS
    if not output.is_file():
        raise Error(f"{output}: there are no replies yet. Run the task with steps: {ALL} or {PREDICT} first.")
    statuses = pq.read_table(output, columns=["prediction_status"])["prediction_status"]
    outcome.rows = len(statuses)
    outcome.failed = len(statuses) - pc.sum(pc.equal(statuses, OK), min_count=0).as_py()


def _stands(output: Path, digest: str) -> bool:
    """Tell whether a predictions file was made with the same settings and has every reply."""
    if not output.is_file() or interrupted(output):
        return False
    about = json.loads((pq.read_schema(output).metadata or {}).get(RUN_METADATA, b"{}"))
    if about.get("task") != digest:
        return False
    statuses = pq.read_table(output, columns=["prediction_status"])["prediction_status"]
    return pc.all(pc.equal(statuses, OK), min_count=0).as_py() is True


def _score(plan: Plan, model: ModelTask, task: DatasetTask, outcome: Outcome, kept: Results | None) -> None:
    # Imported here: what draws a table takes longer to load than a plan to check.
    from rich.console import Console

    from mmscore.reporting.report_table import show

    folder = outcome.folder
    files = {"output": str(folder / REPORT), "csv_file": str(folder / TABLE)}
    given = {**plan.scoring, "recipes": task.recipes, **files}
    found: list[Result] = []
    then = (lambda result: None) if kept is None else found.append
    report = scored([str(folder / PREDICTIONS)], given, _options(plan, model, folder), then=then)
    table = io.StringIO()
    show(report, Console(file=table, highlight=False, width=_LOG_WIDTH))
    _log(folder, "\n".join([table.getvalue().strip(), *(note for one in report.entries for note in one.messages)]))
    outcome.rejected = outcome.rejected or not (report.complete or given["allow_rejects"])
    outcome.scores = {
        f"{entry['recipe']}@{entry['version']}": {name: one["value"] for name, one in entry["metrics"].items()}
        for entry in report.to_json()["entries"]
    }
    if kept is not None:
        kept.setdefault(task.name, []).extend(found)


def _options(plan: Plan, model: ModelTask, folder: Path) -> Options:
    """Say how a model's replies are scored; what its judges took goes to the folder's log."""
    judge = judge_request(plan.scoring, quiet=True)
    if judge is not None:
        judge = replace(judge, spent=lambda spent: _log(folder, str(spent)))
    return options_of({**plan.scoring, "model": plan.scoring["model"] or model.title}, judge)


def _write_pages(plan: Plan, kept: Results) -> list[str]:
    """Write the page of each dataset from the results of its reports: scored anew, a judge could say otherwise.

    Returns:
        What keeps a page from being written.
    """
    found = []
    for task in plan.datasets:
        page = _page(plan, task)
        if error := _apart(plan.work_dir, partial(_write_page, page, plan, task, kept.get(task.name, []))):
            found.append(f"{page}: {error}")
    return found


def _write_page(page: Path, plan: Plan, task: DatasetTask, shown: Sequence[Result]) -> None:
    # Imported here: who wants no page needs neither pictures nor the page's writer.
    from mmscore.reporting.html.page import write_report

    _remove(page)
    pictures = task.input if task.conversion is None else plan.work_dir / CONVERTED / task.name
    if shown:
        write_report(page, shown, pictures=pictures, most=plan.scoring["html_rows"])


def _log(folder: Path, text: str) -> None:
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    with (folder / LOG).open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(f"{stamp} {text}\n")


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
    return printable("\n".join(lines))
