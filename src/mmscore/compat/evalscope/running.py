"""`run_task`: EvalScope's one call, carried out by `mmscore.run`."""

import contextlib
import itertools
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from mmconvert.core.errors import Error
from mmconvert.core.option_fields import build_options
from mmconvert.core.text.printable import escape_control
from mmconvert.kits.vlmevalkit.datasets import find_lmudata_root
from mmscore.api import run
from mmscore.compat.evalscope.config import TaskConfig, parse_task_config, texts_in
from mmscore.compat.evalscope.mapping import is_vlmevalkit, mapped, write_options, write_task
from mmscore.compat.evalscope.results import (
    acc_result,
    refuse_the_kits_own,
    result_of,
    shown,
    upright_text,
    write_outputs,
    write_vlmevalkit_files,
)
from mmscore.compat.evalscope.vlmevalkit_backend import eval_config_of, models_of, work_dir_of
from mmscore.compat.vlmevalkit.datasets import find_dataset_class
from mmscore.compat.vlmevalkit.running import benchmark_of, run_benchmark
from mmscore.infer.options import PredictOptions
from mmscore.workflow.task_file import ModelTask, Plan
from mmscore.workflow.task_readers import Outcome

_STAMP = "%Y%m%d_%H%M%S"
_USE_CACHE = "use_cache with the folder of the run runs only what is missing, ignore_errors scores the others."
_REUSE = "Only the others have responses and scores; reuse: true runs what is missing."
_DOOR = "mmscore.compat.vlmevalkit"
_METHODS = ("load_data", "build_prompt", "evaluate")


def run_task(task_cfg: TaskConfig | Mapping[str, Any] | str | Path | list[Any]) -> dict[str, Any] | list[Any]:
    """Ask a model about benchmarks of custom data and score its responses, as a task of EvalScope says.

    Results go to a folder of `work_dir` that is named after the time (with `use_cache` or `no_timestamp` to that
    folder itself, where an earlier run is gone on with); for the VLMEvalKit backend to `work_dir` itself. The
    framework's table is printed.

    Args:
        task_cfg: A `TaskConfig`, a mapping of its keys, a YAML or JSON file, or a list of them.

    Returns:
        See `mmscore.compat.evalscope.results.result_of`; a list of them for a list.

    Raises:
        UsageError: A key or value has no counterpart here, or a file is missing; nothing was done then.
        Error: Rows have no response or no score and the task lacks `ignore_errors`; what was replied is kept.
    """
    if isinstance(task_cfg, list):
        return [run_task(one) for one in task_cfg]
    config = parse_task_config(task_cfg)
    if is_vlmevalkit(config):
        return _run_vlmevalkit(config)
    plan, keys = mapped(config)
    folder = plan.work_dir
    if not (config.use_cache or config.no_timestamp):
        folder /= time.strftime(_STAMP)
    refuse_the_kits_own(folder, plan)
    outcomes = _run(plan, keys, folder)
    table, result = shown(config, outcomes), result_of(config, outcomes)
    if table:
        click.echo(escape_control(table))
    write_outputs(config, folder, outcomes, result, table)
    lacking = [outcome for outcome in outcomes if outcome.status != "ok"]
    if lacking and not (config.ignore_errors and result):
        raise _refusal(lacking[0])
    return result


def _run(plan: Plan, keys: Mapping[str, str], folder: Path, *, restart: bool = False) -> list[Outcome]:
    with _environment(keys):
        return run(write_task(plan), work_dir=folder, restart=restart)


def _run_vlmevalkit(config: TaskConfig) -> dict[str, Any]:
    """Run every model on every table; a benchmark of a class of the user's by the door of VLMEvalKit."""
    keys = eval_config_of(config)
    data = texts_in(keys.get("data") or [], "eval_config.data")
    own = [name for name in data if is_users(name)]
    others = [name for name in data if name not in own]
    found: dict[str, Any] = {}
    refusals: list[Error] = []
    tables: list[str] = []
    if others or not own:
        plan, secrets = mapped(TaskConfig(**{**vars(config), "eval_config": {**keys, "data": others}}))
        outcomes = _run(plan, secrets, plan.work_dir, restart=keys.get("reuse") is False)
        write_vlmevalkit_files(outcomes)
        refusals += [_refusal(outcome, _REUSE) for outcome in outcomes if outcome.status != "ok"]
        found, tables = result_of(config, outcomes), [shown(config, outcomes)]
    for (model, secrets), name in itertools.product(models_of(keys), own):
        try:
            with _environment(secrets):
                lines, lacking = run_users(name, model, keys, work_dir_of(config, keys))
        except Error as error:
            refusals.append(error)
            continue
        refusals += [Error(f"{work_dir_of(config, keys)}: {lacking} {_REUSE}")] if lacking else []
        found |= acc_result(model.name, name, lines)
        tables.append(upright_text(lines) if lines else "")
    for text in filter(None, tables):
        click.echo(escape_control(text))
    # As in the framework what fails is passed over; but a run that gave no numbers has failed.
    if refusals and not found:
        raise refusals[0]
    for refusal in refusals:
        click.echo(escape_control(f"evalscope: {refusal}"), err=True)
    return found


def _refusal(outcome: "Outcome", next_step: str = _USE_CACHE) -> Error:
    """Say why numbers over a part of the rows are none: the framework stops at the first row that fails."""
    rejects = outcome.folder.parent.parent / ".datasets" / f"{outcome.dataset}.rejects.jsonl"
    why, see = outcome.error, outcome.folder / "log.txt"
    if why is None and outcome.failed:
        why = f"{outcome.failed} of {outcome.rows} rows have no response."
    elif why is None:
        why = "rows were skipped, or have no score."
        see = rejects if rejects.is_file() else see
    return Error(f"{outcome.folder}: {why} See {see}. {next_step}")


@contextlib.contextmanager
def _environment(keys: Mapping[str, str]) -> Iterator[None]:
    """Hold keys of services where they are looked for, for as long as they are needed."""
    before = {name: os.environ.get(name) for name in keys}
    os.environ.update(keys)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def is_users(name: str) -> bool:
    """Tell whether a benchmark is read, worded or evaluated by code of the user's: a class, or methods put into one.

    Args:
        name: The benchmark; its table need not be there.
    """
    if not (find_lmudata_root() / f"{name}.tsv").is_file():
        return False
    named = find_dataset_class(name)
    return any(not getattr(named, method).__module__.startswith(_DOOR) for method in _METHODS)


def run_users(
    name: str, model: ModelTask, keys: Mapping[str, Any], work_dir: str
) -> tuple[Sequence[Mapping[str, Any]], str]:
    """Ask a model about a benchmark and evaluate what it says, as the task's mode wants.

    Args:
        name: The benchmark.
        model: Whom to ask.
        keys: The backend's keys.
        work_dir: Folder of the results.

    Returns:
        What `evaluate` gave, a row a mapping; and why rows are not in it, empty where all are.

    Raises:
        UsageError: An option is refused, or there is nothing to evaluate.
        Error: A file cannot be read or written.
    """
    given = {"model": keys.get("judge"), "nproc": keys.get("nproc")}
    done = run_benchmark(
        benchmark_of(name, allow_remote=False),
        build_options(PredictOptions, {**write_options(model.options), "limit": keys.get("limit") or None}, "predict"),
        work_dir=work_dir,
        mode=keys.get("mode", "all"),
        reuse=keys.get("reuse", False),
        judge_kwargs={argument: value for argument, value in given.items() if value is not None},
        quiet=True,
    )
    lacking = [f"{name}: row skipped: {reason}" for reason in done.refused[:1]]
    if done.summary is not None and done.summary.failed:
        lacking.append(f"{name}: {done.summary.failed} rows have no response.")
    return done.result, " ".join(lacking)
