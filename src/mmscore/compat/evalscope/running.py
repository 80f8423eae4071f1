"""`run_task`: EvalScope's one call, carried out by `mmscore.run`."""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mmconvert.command_line import printable
from mmconvert.errors import Error
from mmscore.compat.evalscope.config import TaskConfig, parse_task_config
from mmscore.compat.evalscope.mapping import is_vlmevalkit, mapped
from mmscore.compat.evalscope.results import result_of, shown
from mmscore.compat.evalscope.vlmevalkit_backend import eval_config_of

if TYPE_CHECKING:
    from mmscore.api import Outcome

_STAMP = "%Y%m%d_%H%M%S"


def run_task(task_cfg: TaskConfig | Mapping[str, Any] | str | Path | list[Any]) -> dict[str, Any] | list[Any]:
    """Ask a model about benchmarks of custom data and score its replies, as a task of EvalScope says.

    Results go to a folder of `work_dir` that is named after the time (with `use_cache` or `no_timestamp` to that
    folder itself, where an earlier run is gone on with); for the VLMEvalKit backend to `work_dir` itself. The
    kit's table is printed.

    Args:
        task_cfg: A `TaskConfig`, a mapping of its keys, a YAML or JSON file, or a list of them.

    Returns:
        See `mmscore.compat.evalscope.results.result_of`; a list of them for a list.

    Raises:
        UsageError: A key or value has no counterpart here, or a file is missing; nothing was done then.
        Error: Rows have no reply or no score and the task lacks `ignore_errors`; what was replied is kept.
    """
    if isinstance(task_cfg, list):
        return [run_task(one) for one in task_cfg]
    config = parse_task_config(task_cfg)
    task, keys = mapped(config)
    with _environment(keys):
        outcomes = _run(config, task)
    if text := shown(config, outcomes):
        click.echo(printable(text))
    _check(config, outcomes)
    return result_of(config, outcomes)


def _run(config: TaskConfig, task: Mapping[str, Any]) -> list["Outcome"]:
    from mmscore.api import run  # knows every command, and takes its time

    place = Path(task["work-dir"])
    if is_vlmevalkit(config):
        return run(task, work_dir=place, restart=eval_config_of(config).get("reuse") is False)
    if not (config.use_cache or config.no_timestamp):
        place = place / time.strftime(_STAMP)
    return run(task, work_dir=place)


def _check(config: TaskConfig, outcomes: Sequence["Outcome"]) -> None:
    """Refuse numbers over a part of the rows, as the kit stops at the first row that fails."""
    lacking = [outcome for outcome in outcomes if outcome.status != "ok"]
    # The VLMEvalKit backend passes over what fails.
    kept = config.ignore_errors or is_vlmevalkit(config)
    if not lacking or (kept and any(outcome.error is None for outcome in outcomes)):
        return
    first = lacking[0]
    why = first.error or f"{first.failed} of {first.rows} rows have no reply, or rows have no score."
    raise Error(
        f"{first.folder}: {why} See {first.folder / 'log.txt'}. use_cache with the folder of the run asks only what is "
        "missing, ignore_errors takes the numbers of the others."
    )


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
