"""Predictions as the file that a benchmark's server takes."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypedDict

import msgspec

from mmconvert.core.record import Record
from mmconvert.pipeline.convert import Records, read, write
from mmconvert.plugins.format import Loss, Target
from mmconvert.storage.atomic import require_apart, require_folder
from mmconvert.storage.source_files import watch_sources
from mmscore.core.predictions.locate import locate_predictions

NEEDED = ("id", "question", "options", "prediction")
"""Columns that a submission is about: what it cannot hold of them is a fault, of all others it is meant."""

_TABLE = "predictions"
"""Format of parquet files here: a predictions file created by mmconvert has the turns of its prompt, but not their
images."""


class Submission(msgspec.Struct, frozen=True):
    """What was written.

    Attributes:
        format: Format of the file.
        output: The file.
        rows: Rows in it.
        faults: What a server will miss, row by row.
        rejected: Rows that could not be read and are not in the file.
        left_out: Column -> rows of which the file does not hold it, as is meant.
    """

    format: str
    output: str
    rows: int
    faults: tuple[Loss, ...]
    rejected: tuple[str, ...]
    left_out: Mapping[str, int]

    @property
    def complete(self) -> bool:
        """Whether every row is there with all that a server looks for."""
        return not self.faults and not self.rejected

    def to_json(self) -> dict[str, Any]:
        """Give the object that `mmscore submit --json` prints."""
        return {
            "format": self.format,
            "output": self.output,
            "rows": self.rows,
            "faults": [{"id": fault.id, "field": fault.field, "message": fault.message} for fault in self.faults],
            "rejected": list(self.rejected),
            "left_out": dict(self.left_out),
        }


class SubmitOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a submission is made of, and how."""

    format: str | None = None
    """Format of PREDICTIONS. [default: detected]"""
    to: str
    """Format of the submission, for example mmbench."""
    columns: str | None = None
    """Column set of the format; for mmbench: submission or server."""


class SubmitKeywords(TypedDict, total=False):
    """Keywords of `submit`: the options of `mmscore submit` by their names."""

    format: str | None
    columns: str | None


@watch_sources()
def submit(predictions: Path, output: Path, options: SubmitOptions) -> Submission:
    """Write a submission; the file is written atomically.

    Args:
        predictions: Any file of predictions, `-` for standard input.
        output: The file.
        options: Formats of both.

    Returns:
        What was written, and what a server will miss in it.

    Raises:
        UsageError: The file is missing, or the format or its columns are unknown.
        Error: The file is damaged, or the format cannot hold a value.
    """
    require_folder(output)
    require_apart([output], [predictions])
    place = locate_predictions(predictions).path
    records = read(place, options.format or (_TABLE if place.suffix.lower() == ".parquet" else None))
    bare: list[Loss] = []
    losses = write(_watch_records(records, bare), Target(output, columns=options.columns), options.to)
    faults = [*bare, *(loss for loss in losses if loss.field in NEEDED)]
    left_out = Counter(loss.field for loss in losses if loss.field not in NEEDED)
    rejected = tuple(map(str, records.rejects))
    return Submission(options.to, str(output), records.rows_read - len(rejected), tuple(faults), rejected, left_out)


def _watch_records(records: Records, bare: list[Loss]) -> Iterator[Record]:
    for record in records:
        if not record.question:
            bare.append(Loss(record.id, "question", "there is none. Submit the file that `mmscore predict` wrote"))
        yield record
