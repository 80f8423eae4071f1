"""What `mmconvert inspect` and `mmconvert.inspect` do: say what a file is, and why; nothing is written."""

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from mmconvert.core.errors import Error
from mmconvert.core.record import Record, join_prompt_text
from mmconvert.io.detect import UnknownFormatError, sample
from mmconvert.pipeline.inputs import Input, plan_inputs
from mmconvert.pipeline.read import FileOptions, ReadOptions, Records

_SAMPLES = 3
_PIPED = "-"


class InspectedRecord(msgspec.Struct, frozen=True):
    """A record as `inspect` shows it; of an image its format and size, or its address."""

    id: str
    answer: str | None
    prediction: str | None
    images: list[str]
    prompt: str


class Inspected(msgspec.Struct, frozen=True):
    """What a file is.

    Attributes:
        file: The file; `-` for what was piped.
        format: Its format.
        reason: Why it was taken.
        columns: Columns that a field of ours holds.
        extra: Columns that are kept in `extra`.
        rows: Records that a conversion would give.
        rejected: Rows that it would refuse.
        images: Images of the records.
        tasks: Records of each task.
        warnings: Remarks of the reader with their counts.
        samples: The first records.
        first_reject: Why the first of the skipped rows would be refused; None where none would.
    """

    file: str
    format: str
    reason: str
    columns: list[str]
    extra: list[str]
    rows: int
    rejected: int
    images: int
    tasks: dict[str, int]
    warnings: dict[str, int]
    samples: list[InspectedRecord]
    first_reject: str | None

    def to_json(self) -> dict[str, Any]:
        """Give the object that `mmconvert inspect --json` prints for a file."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


def inspect_files(name: str, options: FileOptions) -> list[Inspected]:
    """Say which format files have, and why, with counts and three records of each; writes nothing.

    Args:
        name: File, folder, name or URL as the user writes it.
        options: How to read.

    Raises:
        UsageError: The path is missing or the format unknown.
        Error: The format cannot be told, or a file is damaged.
    """
    # What was piped stands in a file that goes away with the process: no name for anybody.
    piped = name == _PIPED or Path(name).is_fifo()
    how = options.reading()
    try:
        sources = plan_inputs([name], every_set=True)
        return [_inspect(source, how, _PIPED if piped else str(source.path)) for source in sources]
    except UnknownFormatError as error:
        raise Error(error.details) from None


def _inspect(source: Input, how: ReadOptions, name: str) -> Inspected:
    records = Records(source, how)
    first: list[Record] = []
    tasks: Counter[str] = Counter()
    extra: set[str] = set()
    understood: set[str] = set()
    images = 0
    for record in records:
        images += len(record.images)
        tasks[record.task] += 1
        extra.update(record.extra)
        # What a column of ours holds too stands in extra only for the way back.
        understood.update(name for name in record.extra if getattr(record, name, None))
        if len(first) < _SAMPLES:
            first.append(record)
    columns = sample(source.path).columns
    extra -= understood
    return Inspected(
        file=name,
        format=records.format,
        reason=records.reason,
        columns=[column for column in columns if column not in extra],
        extra=[column for column in columns if column in extra],
        rows=tasks.total(),
        rejected=len(records.rejects),
        images=images,
        tasks=dict(tasks),
        warnings=dict(records.warnings),
        samples=[_build_inspected(record) for record in first],
        first_reject=str(records.rejects[0]) if records.rejects else None,
    )


def _build_inspected(record: Record) -> InspectedRecord:
    images = [str(i.url) if i.bytes is None else f"{i.format} {i.width}x{i.height}" for i in record.images]
    return InspectedRecord(record.id, record.answer, record.prediction, images, join_prompt_text(record))
