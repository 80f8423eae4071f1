"""EvalScope's task as a task of ours (docs/run.md), and the keys that it holds."""

import os
from collections.abc import Mapping
from typing import Any

from mmconvert.core.errors import UsageError, show
from mmconvert.kits.evalscope.release import Release
from mmscore.compat.evalscope.config import DEFAULT_WORK_DIR, EvalBackend, TaskConfig, parse_task_config
from mmscore.compat.evalscope.native import task_of_native
from mmscore.compat.evalscope.vlmevalkit_backend import eval_config_of, task_of_vlmevalkit, work_dir_of

RELEASES: Mapping[str, Release] = {"1.3": "1.3.0", "1.10": "1.10.0", "1.14": "1.14.1"}
"""Versions of the recipes, and the release that each stands for."""

SEED = "1.3"
"""The version whose table and whose keys the kit's document on custom data shows."""


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


def mapped(config: TaskConfig) -> tuple[dict[str, Any], dict[str, str]]:
    """Map a task.

    Args:
        config: The task.

    Returns:
        What a file of `mmscore run` holds; and what environment variables have to hold for it.

    Raises:
        UsageError: A key or value has no counterpart, or a file is missing.
    """
    config.check()
    keys: dict[str, str] = {}
    if is_vlmevalkit(config):
        task = task_of_vlmevalkit(config, keys)
        return {**task, "work-dir": work_dir_of(config, eval_config_of(config))}, keys
    version = version_of(config)
    task = task_of_native(config, version, RELEASES[version], keys)
    return {**task, "work-dir": str(config.use_cache or config.work_dir or DEFAULT_WORK_DIR)}, keys


def task_of(given: TaskConfig | Mapping[str, Any]) -> dict[str, Any]:
    """Give a task of EvalScope's in the shape of docs/run.md; keys are named by their environment variables.

    Args:
        given: The task, or the keys of its file.

    Raises:
        UsageError: A key or value has no counterpart, or a file is missing.
    """
    return mapped(parse_task_config(given))[0]


def adopted(given: Mapping[str, Any]) -> dict[str, Any]:
    """Do as `task_of`, and put keys of services that stand in the task into this process's environment."""
    task, keys = mapped(parse_task_config(given))
    os.environ.update(keys)
    return task
