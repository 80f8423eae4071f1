"""EvalScope's door: `TaskConfig` and `run_task` for its benchmarks of custom multimodal data.

    from mmscore.compat.evalscope import TaskConfig, run_task

    run_task(TaskConfig(model="qwen-vl-plus", api_url="http://localhost:8000/v1", datasets=["general_vqa"], ...))

`python -m mmscore.compat.evalscope` takes the flags of the framework's command; `script FILE` runs a Python file whose
`import evalscope...` and `import vlmeval...` give the doors' names where the frameworks are not installed.

Tasks may also be dicts, YAML and JSON files, of `run_task` or `mmscore run`. Keys that have no counterpart
here are errors (docs/kits/evalscope.md).
"""

from mmscore.compat.evalscope.config import EvalBackend, EvalType, JudgeStrategy, TaskConfig, is_task, parse_task_config
from mmscore.compat.evalscope.mapping import adopted, task_of
from mmscore.compat.evalscope.results import shown
from mmscore.compat.evalscope.running import run_task

MODULES = {
    "": ("TaskConfig", "run_task"),
    "run": ("run_task",),
    "config": ("TaskConfig", "parse_task_config"),
    "constants": ("EvalBackend", "EvalType", "JudgeStrategy"),
}
"""Modules of the framework that can be imported where it is not installed, and the names in each."""

__all__ = [
    "MODULES",
    "EvalBackend",
    "EvalType",
    "JudgeStrategy",
    "TaskConfig",
    "adopted",
    "is_task",
    "parse_task_config",
    "run_task",
    "shown",
    "task_of",
]
