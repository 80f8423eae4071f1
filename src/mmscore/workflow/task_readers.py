"""Task files of kits that `mmscore run` takes: plug-ins that know a file of theirs by its content."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from mmconvert.plugins.registry import load_all
from mmscore.workflow.outcome import Outcome

GROUP = "mmscore.workflow.task_readers"


class TaskReader(NamedTuple):
    """How a kit's task file is read.

    Attributes:
        is_task: Tells whether what a file holds is a task of the kit.
        adopted: Gives it in the shape of docs/run.md; raises UsageError where that has no counterpart.
        shown: Draws what the kit prints at the end.
    """

    is_task: Callable[[Mapping[str, Any]], bool]
    adopted: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    shown: Callable[[Mapping[str, Any], Sequence[Outcome]], str]


def find_reader(given: Mapping[str, Any]) -> TaskReader | None:
    """Find whose task a file holds; None for one in the shape of docs/run.md.

    Args:
        given: What the file holds.

    Example:
        >>> find_reader({"models": ["answer"], "datasets": []})
    """
    return next((reader for _, reader in load_all(GROUP) if reader.is_task(given)), None)
