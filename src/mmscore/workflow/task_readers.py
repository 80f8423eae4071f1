"""Task files of frameworks that `mmscore run` takes: plug-ins that know a file of theirs by its content."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from mmconvert.plugins.registry import load_all
from mmscore.core.report import Entry

GROUP = "mmscore.workflow.task_readers"


@dataclass(slots=True)
class Outcome:
    """What became of a model's answers to a dataset.

    Attributes:
        model: The model's folder.
        dataset: The dataset's folder.
        folder: Where the files lie.
        rows: Rows of the predictions file.
        failed: Rows of it without a response.
        rejected: The dataset lacks rows that were refused, or rows have no score.
        error: Why there is no report; None where there is one.
        scores: Value of each metric by recipe.
        entries: Entries of its report, one a recipe.
    """

    model: str
    dataset: str
    folder: Path
    rows: int = 0
    failed: int = 0
    rejected: bool = False
    error: str | None = None
    scores: Mapping[str, Mapping[str, float | None]] | None = None
    entries: Sequence[Entry] = ()

    @property
    def status(self) -> str:
        """`failed` without a report, `partial` with rows that lack a response or score, else `ok`."""
        return "failed" if self.error is not None else "partial" if self.failed or self.rejected else "ok"

    def to_json(self) -> dict[str, Any]:
        """Give the object that `--json` prints for it."""
        about = {"model": self.model, "dataset": self.dataset, "folder": str(self.folder), "status": self.status}
        return {**about, "rows": self.rows, "failed": self.failed, "error": self.error, "scores": self.scores or {}}


class TaskReader(NamedTuple):
    """How a framework's task file is read.

    Attributes:
        is_task: Tells whether what a file holds is a task of the framework.
        adopted: Gives it in the shape of docs/run.md; raises UsageError where that has no counterpart.
        shown: Draws what the framework prints at the end.
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
