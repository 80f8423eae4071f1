"""Carry a task out: every model is asked about every dataset, and its answers are scored."""

import contextlib
import json
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, TypedDict

import msgspec
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec.structs import asdict, replace

from mmconvert._version import __version__
from mmconvert.core.errors import Error, UsageError
from mmconvert.core.option_fields import Place
from mmconvert.core.progress import print_message
from mmconvert.dataset.dataset import Dataset, open_dataset
from mmconvert.pipeline.convert_files import convert_files
from mmconvert.plugins.arguments import parse_spec
from mmscore.core.predictions.load import open_rows
from mmscore.core.predictions.run_metadata import RUN_METADATA
from mmscore.core.report import json_text, publish
from mmscore.core.select_recipe import choose_recipe, find_recipe_of, gather_facts
from mmscore.infer import session
from mmscore.infer.backend import Backend, identify_file
from mmscore.infer.json_schema import read_response_format
from mmscore.infer.predictions_file import is_interrupted
from mmscore.infer.server import RunningServer, run_server
from mmscore.infer.session import open_where_asked
from mmscore.llm.response_cache import OK, build_answer_key
from mmscore.reporting.html.page import PageOptions, write_report
from mmscore.reporting.report_table import draw
from mmscore.reporting.summary_table import SummaryRow, to_csv, to_html, to_json
from mmscore.reporting.track import log_scores
from mmscore.reporting.tracker import PROJECT, Tracker
from mmscore.scoring.scored_file import Result
from mmscore.workflow.score import score_to_files
from mmscore.workflow.task_file import ALL, PREDICT, SCORE, DatasetTask, ModelTask, Plan
from mmscore.workflow.task_readers import Outcome

PREDICTIONS, REPORT, TABLE, LOG = "predictions.parquet", "report.json", "report.csv", "log.txt"
SERVER_LOG = "server.log"
"""Output of a model's server, in the model's folder."""
_NOT_OF_RESPONSES = frozenset(("processes", "engine", "serve", "base_url"))
"""Options on which no response depends."""
SUMMARY = "summary"
"""Name of the files in the work folder that hold one score of each run."""
CONVERTED = ".datasets"
"""Folder in the work folder for what is converted; no model's folder begins with a dot."""
LOGGED = "logged.json"
"""What trackers of experiments have of a run, in its folder."""
_LOG_WIDTH = 160
Results = dict[str, list[Result]]
"""What stands behind the reports of each dataset, by its name; models in the order of the plan."""
Summary = tuple[list[SummaryRow], list[str]]


class PreparedDataset:
    """A dataset, converted when it is first needed; an error then is an error for every model.

    Args:
        task: The dataset.
        folder: Where it goes if it is converted.
        quiet: No progress and no count of rows.

    Attributes:
        task: The dataset.
        rejected: Rows of it were refused; known after `rows`.
    """

    def __init__(self, task: DatasetTask, folder: Path, quiet: bool) -> None:
        self.rejected = False
        self.task = task
        self._folder = folder
        self._quiet = quiet

    def rows(self) -> Dataset:
        """Give the dataset that is asked about.

        Raises:
            Error: It cannot be converted or read.
        """
        if isinstance(self._made, Error):
            raise self._made
        return self._made

    @cached_property
    def _made(self) -> Dataset | Error:
        try:
            return self._convert()
        except Error as error:
            return error

    def _convert(self) -> Dataset:
        if self.task.conversion is None:
            return open_dataset(self.task.input)
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        options = replace(self.task.conversion, overwrite=True)
        summary = convert_files([self.task.input], str(self._folder), options, quiet=self._quiet)
        self.rejected = summary.rows_rejected > 0 and not options.allow_rejects
        if not self._quiet:
            refused = f", {summary.rows_rejected:,} skipped, reasons in {summary.rejects}" if summary.rejects else ""
            said = [f"{summary.rows_written:,} rows converted{refused}", *summary.warnings]
            print_message("\n".join(f"{self.task.name}: {line}" for line in said))
        return open_dataset(self._folder)


class LazyModel:
    """A model that is loaded when the first row is to be asked, once for all datasets. Use as a context manager.

    Args:
        task: The model.
        log: File for what its server prints, where one is started for it.
        quiet: No progress bars while loading.

    Attributes:
        task: The model.
    """

    def __init__(self, task: ModelTask, log: Path, quiet: bool) -> None:
        self.task = task
        self._log = log
        self._quiet = quiet
        self._serving = contextlib.ExitStack()
        self._server: RunningServer | None = None
        self._failed: Error | None = None

    def __enter__(self) -> "LazyModel":
        """Begin; nothing is loaded yet."""
        return self

    def __exit__(self, *raised: object) -> None:
        """End its server."""
        self._serving.close()

    def open_backend(self) -> Backend:
        """Give who answers, with the server running.

        Raises:
            Error: The model cannot be loaded, or the server does not start.
        """
        if isinstance(self._made, Error):
            raise self._made
        self.start_server()
        return self._made

    @contextlib.contextmanager
    def explain_end(self) -> Iterator[None]:
        """Show the last lines of its server where that ends while the context lasts.

        Raises:
            Error: What needed the server failed; says more where the server has ended.
        """
        try:
            yield
        except Error:
            if self._server is None:
                raise
            with self._server.explain_end():
                raise
        if self._server is not None:
            with self._server.explain_end():
                pass

    @cached_property
    def _made(self) -> Backend | Error:
        try:
            return open_where_asked(self.task.options, quiet=self._quiet)
        except Error as error:
            return error

    def start_server(self) -> None:
        """Start the server that the options name, once for all datasets, and again where it has ended.

        Raises:
            Error: It does not start.
        """
        if self._failed is not None:
            raise self._failed
        if self.task.options.serve is None or (self._server is not None and not self._server.has_ended):
            return
        self._serving.close()
        try:
            self._server = self._serving.enter_context(run_server(self.task.options, self._log, quiet=self._quiet))
        except Error as error:
            self._failed = error
            raise

    def digest(self, rows: Dataset, limit: int | None) -> str:
        """Digest what the predictions depend on, as far as it can be told without loading the model."""
        options = self.task.options
        given = {name: str(value) for name, value in asdict(options).items() if name not in _NOT_OF_RESPONSES}
        folder = Path(options.model)
        files = sorted(folder.rglob("*")) if folder.is_dir() else []
        weights = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files if file.is_file()]
        plugins = [options.plugin, *([] if options.protocol is None else [parse_spec(options.protocol)[0]])]
        shape = [] if options.json_schema is None else [read_response_format(options.json_schema)]
        settings = (*map(identify_file, plugins), *shape)
        return build_answer_key(given, *settings, weights, rows.fingerprint, limit, __version__)


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Where the results of a task go, and how."""

    work_dir: Annotated[Path, Place(folder=True)] | None = None
    """Output directory of the results."""
    restart: bool = False
    """Discard cached responses and run every sample again."""
    html: bool = False
    """Also write DIR/DATASET.html with all models and recipes side by side."""
    log: tuple[str, ...] = ()
    """Log the scores to wandb, trackio, mlflow or tensorboard. Repeatable."""
    log_project: str = PROJECT
    """Project or experiment of the tracker that --log names."""


class RunKeywords(TypedDict, total=False):
    """Keywords of `run`: the options of `mmscore run` by their names."""

    work_dir: str | Path | None
    restart: bool
    html: bool
    log: str | Sequence[str]
    log_project: str


def require_numbers(plan: Plan, where: str) -> None:
    """Refuse pages of a plan that gives no numbers.

    Args:
        plan: The plan.
        where: Where the task stands, for the message.

    Raises:
        UsageError: It gives none.
    """
    if plan.steps == PREDICT:
        raise UsageError(f"{where} steps: {PREDICT} gives no numbers for the pages of --html. Leave one of them out.")


def run_plan(
    plan: Plan, *, restart: bool = False, quiet: bool = False, kept: Results | None = None
) -> Generator[Outcome]:
    """Carry a plan out, run after run.

    Args:
        plan: What to ask whom.
        restart: Forget the stored answers.
        quiet: Print no progress.
        kept: Takes the results behind the reports; None to keep none.

    Yields:
        What became of each model's answers to each dataset; what fails does not keep the rest from its turn.
    """
    prepared = {
        task.name: PreparedDataset(task, plan.work_dir / CONVERTED / task.name, quiet) for task in plan.datasets
    }
    for model in plan.models:
        with LazyModel(model, plan.work_dir / model.name / SERVER_LOG, quiet) as opened:
            for task in plan.datasets:
                folder = plan.work_dir / model.name / task.name
                folder.mkdir(parents=True, exist_ok=True)
                outcome = Outcome(model.name, task.name, folder)
                work = partial(
                    _carry_out, plan, prepared[task.name], opened, outcome, restart=restart, quiet=quiet, kept=kept
                )
                outcome.error = _catch_errors(folder, work)
                yield outcome


def _catch_errors(folder: Path, work: Callable[[], None]) -> str | None:
    """Do what must not keep the rest from its turn, and tell what went wrong; a bug leaves its traceback in the log."""
    try:
        work()
    except Error as error:
        _append_log(folder, f"failed: {error}")
        return str(error)
    except Exception as error:
        _append_log(folder, f"failed:\n{traceback.format_exc()}")
        return f"{type(error).__name__}: {error}. This is a bug; {folder / LOG} says where."
    return None


def _carry_out(
    plan: Plan,
    prepared: PreparedDataset,
    opened: LazyModel,
    outcome: Outcome,
    *,
    restart: bool,
    quiet: bool,
    kept: Results | None,
) -> None:
    folder = outcome.folder
    if plan.steps == SCORE:
        # Responses that are missing count as failed.
        output = folder / PREDICTIONS
        if not output.is_file():
            raise Error(f"{output}: there are no responses yet. Run the task with steps: {ALL} or {PREDICT} first.")
        statuses = pq.read_table(output, columns=["prediction_status"])["prediction_status"]
        outcome.rows = len(statuses)
        outcome.failed = len(statuses) - pc.sum(pc.equal(statuses, OK), min_count=0).as_py()
    else:
        before = _read_stamp(folder / PREDICTIONS)
        try:
            rows = prepared.rows()
            outcome.rejected = prepared.rejected
            _predict(rows, opened, prepared.task, outcome, restart=restart, quiet=quiet)
        finally:
            if _read_stamp(folder / PREDICTIONS) != before:
                # Those that stand there are of other responses.
                _remove(folder / REPORT, folder / TABLE, _build_page_path(plan, prepared.task))
    if plan.steps != PREDICT:
        _remove(folder / REPORT, folder / TABLE)
        _score_run(plan, opened.task, prepared.task, outcome, kept)


def _read_stamp(file: Path) -> tuple[int, int] | None:
    """Tell a file from the one that takes its place."""
    return (file.stat().st_ino, file.stat().st_mtime_ns) if file.is_file() else None


def _remove(*files: Path) -> None:
    for file in files:
        file.unlink(missing_ok=True)


def _build_page_path(plan: Plan, task: DatasetTask) -> Path:
    return plan.work_dir / f"{task.name}.html"


def _predict(
    rows: Dataset, opened: LazyModel, task: DatasetTask, outcome: Outcome, *, restart: bool, quiet: bool
) -> None:
    output = outcome.folder / PREDICTIONS
    limit = task.limit if task.limit is not None else opened.task.options.limit
    digest = opened.digest(rows, limit)
    if not restart and _is_done(output, digest):
        outcome.rows = pq.read_metadata(output).num_rows
        _append_log(outcome.folder, f"{PREDICTIONS} stands, {outcome.rows:,} rows")
        return
    given = msgspec.structs.replace(opened.task.options, limit=limit, resume=not restart, restart=restart, serve=None)
    with opened.explain_end():
        if given.several:
            opened.start_server()
            summary = session.predict_here(rows.path, output, given, quiet=quiet, task=digest)
        else:
            summary = session.predict_with(rows, output, opened.open_backend, given, quiet=quiet, task=digest)
    outcome.rows, outcome.failed = summary.rows, summary.failed
    counts = f"{summary.rows:,} rows, {summary.asked:,} asked, {summary.reused:,} reused, {summary.failed:,} failed"
    _append_log(outcome.folder, f"{PREDICTIONS}: {counts}, {summary.seconds:.1f} s")


def _is_done(output: Path, digest: str) -> bool:
    """Tell whether a predictions file was made with the same settings and has every response."""
    if not output.is_file() or is_interrupted(output):
        return False
    about = json.loads((pq.read_schema(output).metadata or {}).get(RUN_METADATA, b"{}"))
    if about.get("task") != digest:
        return False
    statuses = pq.read_table(output, columns=["prediction_status"])["prediction_status"]
    return pc.all(pc.equal(statuses, OK), min_count=0).as_py() is True


def _score_run(plan: Plan, model: ModelTask, task: DatasetTask, outcome: Outcome, kept: Results | None) -> None:
    folder = outcome.folder
    options = msgspec.structs.replace(
        plan.scoring,
        output=str(folder / REPORT),
        csv=str(folder / TABLE),
        model=plan.scoring.model or model.title,
        # What judges took goes to the folder's log.
        judge=plan.judging.build_request(
            lambda spent: _append_log(folder, str(spent)), lambda line: _append_log(folder, line)
        ),
    )
    found: list[Result] = []
    then = (lambda result: None) if kept is None else found.append
    recipes = _list_recipes(plan, task, folder) if plan.also else task.recipes
    report = score_to_files([folder / PREDICTIONS], recipes, options, then=then)
    outcome.entries = report.entries
    notes = (note for entry in report.entries for note in entry.messages)
    _append_log(folder, "\n".join([draw(report, width=_LOG_WIDTH).strip(), *notes]))
    outcome.rejected = outcome.rejected or not (report.complete or options.allow_rejects)
    outcome.scores = {
        f"{entry['recipe']}@{entry['version']}": {name: one["value"] for name, one in entry["metrics"].items()}
        for entry in report.to_json()["entries"]
    }
    if kept is not None:
        kept.setdefault(task.name, []).extend(found)


def log_outcome(outcome: Outcome, trackers: Sequence[Tracker], project: str) -> None:
    """Log the scores of a run of the task to trackers; what was logged already is not logged again."""
    if trackers and outcome.entries:
        about = json.loads((pq.read_schema(outcome.folder / PREDICTIONS).metadata or {}).get(RUN_METADATA, b"{}"))
        scored = [(entry, about) for entry in outcome.entries]

        def tell(line: str) -> None:
            _append_log(outcome.folder, line)
            print_message(f"mmscore: {line}")

        log_scores(trackers, scored, project, tell, logged=outcome.folder / LOGGED)


def _list_recipes(plan: Plan, task: DatasetTask, folder: Path) -> list[str]:
    """List the recipes of a dataset and those of the frameworks that are asked for as well."""
    facts = gather_facts(open_rows(str(folder / PREDICTIONS)))
    found = {framework: find_recipe_of(framework, facts) for framework in plan.also}
    if lacking := [framework for framework, recipe in found.items() if recipe is None]:
        _append_log(folder, f"also: no recipe of {', '.join(lacking)} is for this dataset")
    own = task.recipes or [choose_recipe(facts).name]
    return [*dict.fromkeys([*own, *filter(None, found.values())])]


def write_summary(plan: Plan, outcomes: Sequence[Outcome]) -> Summary:
    """Write what all runs gave, benchmarks by models, as `summary.json`, `summary.csv` and `summary.html`.

    Args:
        plan: The task.
        outcomes: What `run_plan` gave.

    Returns:
        The rows, and the models, which are their columns.
    """
    models = [model.name for model in plan.models]
    rows: dict[tuple[str, str], SummaryRow] = {}
    for task in plan.datasets:
        for outcome in (one for one in outcomes if one.dataset == task.name):
            for entry in outcome.entries:
                if entry.main_metric is None:
                    continue
                metric, estimate = entry.main_metric
                recipe = f"{entry.recipe}@{entry.version}"
                row = rows.setdefault((task.name, recipe), SummaryRow(task.name, recipe, metric))
                row.scores[outcome.model] = estimate
        if not any(name == task.name for name, _ in rows):
            rows[task.name, ""] = SummaryRow(task.name)
    table = [*rows.values()]
    texts = {"json": json_text(to_json(table, models)) + "\n", "csv": to_csv(table, models)}
    for kind, text in (texts | {"html": to_html(table, models)}).items():
        publish(str(plan.work_dir / f"{SUMMARY}.{kind}"), text.encode())
    return table, models


def write_pages(plan: Plan, kept: Results) -> list[str]:
    """Write the page of each dataset from the results of its reports: scored again, a judge could say otherwise.

    Returns:
        What keeps a page from being written.
    """
    found = []
    for task in plan.datasets:
        page = _build_page_path(plan, task)
        if error := _catch_errors(plan.work_dir, partial(_write_page, page, plan, task, kept.get(task.name, []))):
            found.append(f"{page}: {error}")
    return found


def _write_page(page: Path, plan: Plan, task: DatasetTask, shown: Sequence[Result]) -> None:
    _remove(page)
    images = task.input if task.conversion is None else plan.work_dir / CONVERTED / task.name
    if shown:
        scoring = plan.scoring
        write_report(page, shown, PageOptions(images=images, most=scoring.html_rows, workers=scoring.workers))


def _append_log(folder: Path, text: str) -> None:
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    with (folder / LOG).open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(f"{stamp} {text}\n")
