"""One part of a conversion: a file or a span of it, into shards; the same function on every engine.

What a part writes depends on the part alone, so that any number of workers gives the same bytes. Where
files are cut depends on their size alone.
"""

import contextlib
import gc
import importlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from mmconvert.cores import usable_cores
from mmconvert.errors import Error, RowError, UsageError, got
from mmconvert.guess import READERS
from mmconvert.inputs import Input
from mmconvert.reading import ReadOptions, Records
from mmconvert.record import Record
from mmconvert.shards import ROW_GROUP_BYTES, RecordWriter, Shard, weight
from mmconvert.sources import Rejected, Span
from mmconvert.sources.tables import DELIMITERS
from mmconvert.views import EVAL, VIEWS

PART_BYTES = 256 << 20
"""Most bytes of a file in one part; about the size of the shard it gives."""
SMALL_FILE = 64 << 20
"""A file up to this size is one part; a larger one is two at least."""

_HEAD, _LARGE_ROW = 1 << 20, 16 << 10
_RENAMED = "an id that another file or split has too got the name of its own in front"
_CHUNK_BYTES = ROW_GROUP_BYTES // 2
_CHUNK_RECORDS = 1_000


@dataclass(frozen=True, slots=True)
class Part:
    """What one task of an engine converts, and where to.

    Attributes:
        index: Place of the part among all of them, the beginning of its shards' temporary names.
        source: The file, with its split and subset.
        span: Piece of the file, None for all.
        folder: Existing folder for the shards.
        how: How to read.
        fail_on_bad: Stop at the first refused row.
        taken: Ids that earlier parts of the same file have given to the same split.
        foreign: Ids of other files or splits; here they get `source.id_prefix` in front.
        view: How rows are laid out, a name of `VIEWS`.
    """

    index: int
    source: Input
    span: Span | None
    folder: Path
    how: ReadOptions
    fail_on_bad: bool = False
    taken: frozenset[str] = frozenset()
    foreign: frozenset[str] = frozenset()
    view: str = EVAL


@dataclass(slots=True)
class PartResult:
    """What a part gave; `ids` are those of its records, in order."""

    shards: list[Shard] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    rejects: list[Rejected] = field(default_factory=list)
    warnings: Counter[str] = field(default_factory=Counter)
    rows_read: int = 0
    images: int = 0
    predicted: int = 0
    bytes: int = 0


def spans_of(records: Records, source: Input, how: ReadOptions) -> Iterator[Span | None]:
    """Cut a file into the spans that are converted apart, while those before are being converted.

    Args:
        records: The file as its format reads it.
        source: The file.
        how: How to read; a limit and a kit's reading keep the file whole.

    Yields:
        Spans in order, or None for the whole file.

    Raises:
        Error: As the source's `cut`.
    """
    path = source.path
    suffix = path.suffix.lower()
    # A kit's reading looks at whole columns, and a limit ends the file early.
    whole = not records.plugin.cuttable or how.limit is not None or how.read_as is not None
    size = 0 if whole or suffix not in READERS or not path.is_file() else path.stat().st_size
    cut = None
    if size > SMALL_FILE:
        cut = getattr(importlib.import_module(f"mmconvert.sources.{READERS[suffix]}"), "cut", None)
    if cut is None:
        yield None
    else:
        yield from cut(path, math.ceil(size / max(2, math.ceil(size / PART_BYTES))))


def useful_workers(inputs: Sequence[Input]) -> int:
    """Count the processes that keep this machine busy: one a core, or half as many where rows are large.

    A process that converts pictures keeps about two cores busy by itself: one thread reads, others write
    and hash. Told from the head of the first file.
    """
    cores = usable_cores()
    path = inputs[0].path
    if path.suffix.lower() not in (".jsonl", *DELIMITERS) or not path.is_file():
        return cores
    with path.open("rb") as file:
        head = file.read(_HEAD)
    large = len(head) == _HEAD and head.count(b"\n") < _HEAD // _LARGE_ROW
    return max(1, cores // 2) if large else cores


class PartError(Error):
    """A part was refused; `rejects` are the rows of it that were refused before."""

    def __init__(self, message: str, rejects: Sequence[Rejected]) -> None:
        # Both in `args`: the error crosses processes.
        super().__init__(message, rejects)
        self.rejects = list(rejects)

    def __str__(self) -> str:
        """Give the message alone."""
        return str(self.args[0])


def convert_part(part: Part) -> PartResult:
    """Convert one part into shards named `part-<index>-...` in its folder.

    Raises:
        PartError: The file was refused, or a row was under `fail_on_bad`.
    """
    records = Records(part.source, part.how, part.span)
    result = PartResult()
    try:
        _copy(part, records, result)
    except UsageError:
        raise
    except Error as error:
        raise PartError(str(error), records.rejects) from None
    if part.fail_on_bad and records.rejects:
        raise PartError(f"{records.rejects[0]} Stopped, because --on-bad fail was given.", records.rejects)
    result.rejects, result.rows_read = records.rejects, records.rows_read
    result.warnings += records.warnings  # which drops what was counted zero times
    return result


def _copy(part: Part, records: Records, result: PartResult) -> None:
    seen = set(part.taken)
    view = VIEWS[part.view]
    writer = RecordWriter(part.folder, f"part-{part.index:05d}", view.schema, view.batch)
    with _rare_collections(), _BackgroundWriter(writer) as sink:
        for record in records:
            if part.fail_on_bad and records.rejects:
                break
            try:
                record = view.of(record)
            except RowError as error:
                records.rejects.append(Rejected.of(error, records.where, record.id))
                continue
            renamed = record.id in part.foreign
            if renamed:
                record = replace(record, id=f"{part.source.id_prefix}{record.id}")
            if record.id in seen:
                message = f"the id stands in an earlier row too {got(record.id)}. Give every row an id of its own."
                records.rejects.append(Rejected(records.where, "id.duplicate", message, "id", record.id))
                continue
            seen.add(record.id)
            result.ids.append(record.id)
            result.warnings[_RENAMED] += renamed
            size = weight(record)
            sink.add(record, size)
            result.images += len(record.images)
            result.predicted += record.prediction is not None
            result.bytes += size
    result.shards = sink.shards


def without_duplicates(parts: Sequence[Part], results: list[PartResult], kept: Iterable[str] = ()) -> None:
    """Convert again the parts that repeat an id of an earlier part, of whatever split.

    Parts are converted apart and do not see each other's ids; repeats between them are rare. A repeat in
    the same file and split is refused, any other gets the words in front that tell the files apart.

    Args:
        parts: All parts in order.
        results: Their results; replaced in place where a part is converted again.
        kept: Ids that stand in the dataset already.
    """
    owners: dict[str, Input | None] = dict.fromkeys(kept)
    for number, part in enumerate(parts):
        # The second time for a name that is taken even with the file's words in front.
        for _ in range(2):
            repeated = owners.keys() & results[number].ids
            if not repeated:
                break
            foreign = {key for key in repeated if not part.foreign and owners[key] != part.source}
            part = replace(part, taken=part.taken | (repeated - foreign), foreign=part.foreign | foreign)
            for shard in results[number].shards:
                (part.folder / shard.file).unlink()
            results[number] = convert_part(part)
        owners.update(dict.fromkeys(results[number].ids, part.source))


@contextlib.contextmanager
def _rare_collections() -> Iterator[None]:
    """Look for cycles rarely: records have none, and looking costs a sixth of the time."""
    before = gc.get_threshold()
    gc.set_threshold(50_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class _BackgroundWriter:
    """Hands chunks of records to one writing thread, two at most under way, so that reading goes on."""

    def __init__(self, writer: RecordWriter) -> None:
        self._writer = writer
        self._pool = ThreadPoolExecutor(max_workers=1)
        self._pending: list[Future[None]] = []
        self._chunk: list[Record] = []
        self._bytes = 0
        self.shards: list[Shard] = []

    def __enter__(self) -> "_BackgroundWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._send()
                for future in self._pending:
                    future.result()
                self.shards = self._pool.submit(self._writer.close).result()
        finally:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def add(self, record: Record, size: int) -> None:
        if self._bytes >= _CHUNK_BYTES or len(self._chunk) >= _CHUNK_RECORDS:
            self._send()
        self._chunk.append(record)
        self._bytes += size

    def _send(self) -> None:
        while len(self._pending) >= 2:
            self._pending.pop(0).result()
        if self._chunk:
            self._pending.append(self._pool.submit(self._writer.write, self._chunk, self._bytes))
            self._chunk, self._bytes = [], 0
