"""Every problem of files with file, row and field; nothing is written."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mmconvert.core.errors import Error, UsageError, show
from mmconvert.core.progress import Advance, Done, show_progress
from mmconvert.core.record import Record
from mmconvert.core.rows import Rejected, Where
from mmconvert.pipeline.inputs import Input, plan_inputs
from mmconvert.pipeline.part_writer import measure_extent
from mmconvert.pipeline.read import FileOptions, ReadOptions, Records


@dataclass(slots=True)
class Checked:
    """What a check found.

    Attributes:
        rows: Records that a conversion would give.
        problems: One sentence each, with file, row, field and what to do.
        warnings: Remarks about files that convert all the same, with their counts.
        refused: Files that would be refused as a whole.
        bad_rows: Rows that would be refused.
    """

    rows: int = 0
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    refused: int = 0
    bad_rows: int = 0

    def to_json(self) -> dict[str, Any]:
        """Give the object that `mmconvert check --json` prints."""
        return {"rows": self.rows, "problems": self.problems, "warnings": self.warnings}


def check_files(inputs: Sequence[str], options: FileOptions, *, quiet: bool) -> Checked:
    """Look for every problem of files; every image is decoded.

    Args:
        inputs: Files, folders, names and URLs as the user writes them.
        options: How to read them.
        quiet: Print no progress.

    Raises:
        UsageError: A path is missing, or a name in the options is unknown.
    """
    how = options.reading(decode=True, every_problem=True)
    found = Checked()
    with show_progress("check", quiet=quiet) as advance:
        for source in plan_inputs(inputs, every_set=True):
            _check(source, how, found, advance)
    return found


def _check(source: Input, how: ReadOptions, found: Checked, advance: Advance) -> None:
    found_rows: list[Rejected] = []
    records = None
    try:
        records = Records(source, how)
        for one in find_problems(records, watch_records(records, source, advance)):
            if isinstance(one, Rejected):
                found_rows.append(one)
            else:
                found.rows += 1
    except UsageError:
        raise
    except Error as error:
        found.refused += 1
        found.problems.append(str(error))
    if records is not None:
        found_rows.sort(key=lambda problem: (problem.where.file, problem.where.row))
        found.bad_rows += len({(problem.where.file, problem.where.row) for problem in found_rows})
        found.problems += map(str, found_rows)
        found.warnings += list_remarks(records, source)


def find_problems(records: Records, read: Iterable[Record] | None = None) -> Iterator[Record | Rejected]:
    """Give the records that convert, then the problems of rows that do not; repeated ids are problems too.

    Args:
        records: The records of a file.
        read: The same, watched by somebody; None for as they are.

    Raises:
        Error: The file is refused as a whole, after what was found before.
    """
    seen: dict[str, Where] = {}
    repeated: list[Rejected] = []
    failure: Error | None = None
    try:
        for record in records if read is None else read:
            if record.id in seen:
                repeated.append(_duplicate(record.id, records.where, seen))
            else:
                seen[record.id] = records.where
                yield record
    except Error as error:
        failure = error
    for where, key in records.mended:
        if key in seen:
            repeated.append(_duplicate(key, where, seen))
        seen.setdefault(key, where)
    yield from records.rejects
    yield from repeated
    if failure is not None:
        raise failure


def list_remarks(records: Records, source: Input) -> list[str]:
    """Word the remarks of the last reading of a file, with their counts."""
    name, found = source.path.name, records.warnings.items()
    return [f"{name}: {text}" + (f" ({count:,} times)" if count > 1 else "") for text, count in found]


def watch_records(records: Records, source: Input, advance: Advance) -> Iterator[Record]:
    """Read records, and tell after each how much of the file is done."""
    whole = measure_extent(source.path)
    size = 0
    for number, record in enumerate(records, 1):
        yield record
        size += sum(image.bytes is not None and len(image.bytes) for image in record.images)
        advance(Done(number, size, share=whole.share(records.where) or None))


def _duplicate(key: str, where: Where, seen: Mapping[str, Where]) -> Rejected:
    first = seen[key]
    place = f"line {first.line}" if first.line is not None else f"row {first.row}"
    return Rejected(where, "id.duplicate", f"the id is in {place} too {show(key)}.", "id", key)
