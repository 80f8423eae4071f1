"""What became of one run of a task."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


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
