"""The task files of MMTrustEval, which `mmscore run` refuses with the command that takes them."""

from collections.abc import Mapping
from typing import Any

from mmconvert.core.errors import UsageError
from mmscore.workflow.task_readers import TaskReader


def is_task(given: Mapping[str, Any]) -> bool:
    """Tell a task file of the framework from others."""
    return {"model_id", "dataset_id"} <= given.keys()


def adopted(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Refuse a task: its ids stand for classes, which `mmscore run` does not know.

    Raises:
        UsageError: Always; it says which command runs the task.
    """
    raise UsageError(
        "a task of MMTrustEval names classes by their ids. Run it with their file: "
        "python -m mmscore.compat.mmtrusteval run TASK.yaml --import FILE.py"
    )


TASK_READER = TaskReader(is_task, adopted, lambda given, outcomes: "")
