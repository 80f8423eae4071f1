"""EvalScope's task as a task of ours (docs/run.md), and the keys that it holds."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from mmconvert.core.errors import UsageError, show
from mmconvert.kits.evalscope.release import Release
from mmscore.compat.evalscope.config import DEFAULT_WORK_DIR, EvalBackend, TaskConfig, parse_task_config
from mmscore.compat.evalscope.native import plan_native
from mmscore.compat.evalscope.vlmevalkit_backend import plan_vlmevalkit
from mmscore.workflow.task_file import Plan

RELEASES: Mapping[str, Release] = {"1.3": "1.3.0", "1.10": "1.10.0", "1.14": "1.14.1"}
"""Versions of the recipes, and the release that each stands for."""

SEED = "1.3"
"""The version whose table and whose keys the framework's document on custom data shows."""


def version_of(config: TaskConfig) -> str:
    """Choose the version of the recipes by the release that the task names in `evalscope_version`.

    Example:
        >>> version_of(TaskConfig()), version_of(TaskConfig(evalscope_version="1.8.2"))
        ('1.3', '1.10')
    """
    if config.evalscope_version is None:
        return SEED
    try:
        major, minor = (int(part) for part in str(config.evalscope_version).split(".")[:2])
    except ValueError:
        raise UsageError(
            f"evalscope_version: expected a release such as 1.14.1 {show(config.evalscope_version)}."
        ) from None
    # Breaks came with 1.7 and with 1.11 (docs/recipes.md).
    return "1.3" if (major, minor) < (1, 7) else "1.10" if (major, minor) < (1, 11) else "1.14"


def is_vlmevalkit(config: TaskConfig) -> bool:
    """Tell which backend a task wants.

    Raises:
        UsageError: One that has no counterpart here.
    """
    if config.eval_backend not in (EvalBackend.NATIVE, EvalBackend.VLM_EVAL_KIT):
        raise UsageError(
            f"eval_backend: has no counterpart here {show(config.eval_backend)}. Known: {EvalBackend.NATIVE}, "
            f"{EvalBackend.VLM_EVAL_KIT}."
        )
    return bool(config.eval_backend == EvalBackend.VLM_EVAL_KIT)


def mapped(config: TaskConfig) -> tuple[Plan, dict[str, str]]:
    """Map a task.

    Args:
        config: The task.

    Returns:
        What is to be done; and what environment variables have to hold for it.

    Raises:
        UsageError: A key or value has no counterpart, or a file is missing.
    """
    config.check()
    keys: dict[str, str] = {}
    if is_vlmevalkit(config):
        return plan_vlmevalkit(config, keys), keys
    version = version_of(config)
    folder = Path(config.use_cache or config.work_dir or DEFAULT_WORK_DIR)
    return plan_native(config, folder, version, RELEASES[version], keys), keys


def write_task(plan: Plan) -> dict[str, Any]:
    """Write a plan as a file of `mmscore run` holds it, which checks every value; the reverse of `build_plan`."""
    datasets = [
        {"input": one.input, "name": one.name, "recipes": [*one.recipes]}
        | ({"limit": one.limit} if one.limit else {})
        | (write_options(one.conversion) if one.conversion else {})
        for one in plan.datasets
    ]
    return {
        "datasets": datasets,
        "models": [{"name": one.name, **write_options(one.options)} for one in plan.models],
        "score": write_options(plan.scoring) | write_options(plan.judging),
        "steps": plan.steps,
        "work-dir": str(plan.work_dir),
    }


def write_options(options: msgspec.Struct) -> dict[str, Any]:
    """Write options by their names in a file of options, without those that have their defaults.

    Example:
        >>> from mmscore.scoring.judging.request import JudgeOptions
        >>> write_options(JudgeOptions(judge=("own",), judge_repeats=2))
        {'judge': ['own'], 'judge-repeats': 2}
    """
    given = ((field.name, getattr(options, field.name), field.default) for field in msgspec.structs.fields(options))
    return {
        name.replace("_", "-"): [*value] if isinstance(value, tuple) else value
        for name, value, default in given
        if value != default
    }


def task_of(given: TaskConfig | Mapping[str, Any]) -> dict[str, Any]:
    """Give a task of EvalScope's in the shape of docs/run.md; keys are named by their environment variables.

    Args:
        given: The task, or the keys of its file.

    Raises:
        UsageError: A key or value has no counterpart, or a file is missing.
    """
    return write_task(mapped(parse_task_config(given))[0])


def adopted(given: Mapping[str, Any]) -> dict[str, Any]:
    """Do as `task_of`, and put keys of services that stand in the task into this process's environment."""
    plan, keys = mapped(parse_task_config(given))
    os.environ.update(keys)
    return write_task(plan)
