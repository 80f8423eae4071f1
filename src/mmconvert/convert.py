"""The pipeline from files to a dataset and back, and the only door to formats for other packages.

`read` gives records of any known file, `write` writes records in any format, `convert` and `export`
publish whole outputs. A row that is refused is kept with its reason; the others go on.
"""

import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mmconvert.errors import Error, RowError, UsageError
from mmconvert.format import Context, Format, Loss, Target
from mmconvert.guess import guess
from mmconvert.images import MAX_IMAGE_BYTES, Pictures
from mmconvert.inputs import Input, fingerprint
from mmconvert.manifest import DEFAULT_CONFIG
from mmconvert.plugins import load
from mmconvert.record import Record
from mmconvert.shards import sync_folder, write_synced
from mmconvert.sources import Rejected, Row, Where
from mmconvert.store import ROW_GROUP_BYTES, DatasetWriter, weight

_CHUNK_BYTES = ROW_GROUP_BYTES // 3
_CHUNK_RECORDS = 1_000


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read; the options of `mmconvert convert` that bear on one file.

    Attributes:
        format: Format name or `file.py@NAME`, None to guess from the content.
        image_roots: Folders of relative picture paths; () for the input file's own folder.
        dataset: Benchmark name.
        task: Task of every record.
        decode: Decode every picture once (`--verify decode`).
        max_image_bytes: Largest picture.
        max_rows: Most rows of one file, None for any number.
        keep_urls: Keep http(s) pictures as references.
        limit: Stop after this many records, None for all.
    """

    format: str | None = None
    image_roots: tuple[Path, ...] = ()
    dataset: str | None = None
    task: str | None = None
    decode: bool = False
    max_image_bytes: int = MAX_IMAGE_BYTES
    max_rows: int | None = None
    keep_urls: bool = False
    limit: int | None = None


class Records:
    """The records of one file; iterate, then look at the counts.

    Attributes:
        format: Name of the format.
        reason: Why it was taken.
        rejects: Refused rows of the last iteration.
        rows_read: Rows seen in the last iteration.
        warnings: Remarks of the last iteration with their counts.
    """

    def __init__(self, source: Input, options: ReadOptions) -> None:
        """Find the format; nothing but the file's head is read.

        Raises:
            UsageError: The file is missing or the format unknown.
            Error: The format cannot be told, or the file is damaged.
        """
        self._input = source
        self._options = options
        self.format, self.reason = (options.format, "asked for") if options.format else guess(source.path)
        self._plugin: Format = load("mmconvert.formats", self.format)
        self.rejects: list[Rejected] = []
        self.warnings: Counter[str] = Counter()
        self.rows_read = 0

    def __iter__(self) -> Iterator[Record]:
        """Yield records in order; refused rows are collected, not raised."""
        self.rejects, self.rows_read, self.warnings = [], 0, Counter()
        options = self._options
        roots = options.image_roots or (self._input.path.parent if self._input.path.is_file() else self._input.path,)
        pictures = Pictures.within(
            roots, decode=options.decode, max_bytes=options.max_image_bytes, keep_urls=options.keep_urls
        )
        context = Context(
            pictures,
            self.format.rpartition("@")[2],
            options.dataset,
            self._input.subset,
            options.task,
            self._input.id_prefix,
            self.warnings,
        )
        written = 0
        for item in self._plugin.rows(self._input.path, None):
            if written == options.limit:
                return
            self.rows_read += 1
            if options.max_rows is not None and self.rows_read > options.max_rows:
                raise Error(
                    f"{self._input.path}: holds more than {options.max_rows:,} rows. Raise --max-rows to read them."
                )
            for record in self._records(item, context):
                written += 1
                yield record

    def _records(self, item: Row | Rejected, context: Context) -> Sequence[Record]:
        if isinstance(item, Rejected):
            self.rejects.append(item)
            return ()
        for remark in item.remarks:
            context.warn(remark)
        try:
            return tuple(self._plugin.records(item, context))
        except RowError as error:
            self.rejects.append(Rejected.of(error, item.where, _row_id(item)))
            return ()


def _row_id(row: Row) -> str | None:
    value = next((row.fields[name] for name in ("index", "id") if row.fields.get(name) is not None), None)
    return None if value is None else str(value)


def read(path: str | Path, format: str | None = None, **options: Any) -> Records:
    """Open a file or folder of any known format.

    Args:
        path: The file, or a folder where the format's result is a folder.
        format: Format name; None guesses from the content.
        options: Fields of `ReadOptions`.

    Returns:
        Records to iterate, more than once if need be.

    Raises:
        UsageError: The file is missing or the format unknown.
        Error: The format cannot be told, or the file is damaged.
    """
    return Records(Input.of(Path(path)), ReadOptions(format=format, **options))


def write(records: Iterable[Record], target: Target, format: str) -> list[Loss]:
    """Write records in a format; the file appears whole or not at all.

    Args:
        records: May be iterated more than once by the writer.
        target: Where and how.
        format: Name of a format that can be written.

    Returns:
        What the format could not hold, row by row.

    Raises:
        UsageError: The format is unknown or only read.
    """
    plugin: Format = load("mmconvert.formats", format)
    if plugin.write is None:
        raise UsageError(f"format {format!r} is only read. See `mmconvert list formats`.")
    path = target.path.resolve()
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new{path.suffix}")
    try:
        losses = list(plugin.write(records, replace(target, path=temporary)))
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)
    return losses


@dataclass(slots=True)
class Summary:
    """What a conversion did; the object that `--json` prints."""

    format: str = ""
    rows_read: int = 0
    rows_written: int = 0
    rows_rejected: int = 0
    images: int = 0
    bytes: int = 0
    seconds: float = 0.0
    output: str = ""
    rejects: str | None = None
    splits: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Where a conversion goes and how strict it is.

    Attributes:
        config: Config name.
        overwrite: Replace a dataset that stands there.
        append: Add splits or configs to it.
        fail_on_bad: Refuse the whole run at the first bad row.
        rejects: File for refused rows; None for `<output>.rejects.jsonl`.
        allow_empty: Publish a dataset without rows.
    """

    config: str = DEFAULT_CONFIG
    overwrite: bool = False
    append: bool = False
    fail_on_bad: bool = False
    rejects: Path | None = None
    allow_empty: bool = False


def convert(inputs: Sequence[Input], output: Path, how: ReadOptions, where: WriteOptions) -> Summary:
    """Convert files into one dataset that appears whole or not at all.

    Args:
        inputs: Files with their split and subset, as `inputs.plan` gives them.
        output: The folder that shall appear.
        how: How to read.
        where: Where to write and how strict to be.

    Returns:
        Counts; `rows_read` = rows that gave records + `rows_rejected`.

    Raises:
        UsageError: Wrong names or a place that is taken.
        Error: A file was refused, every row was, or the first one was under `fail_on_bad`; nothing is
            published, the rejects file is written all the same.
    """
    started = time.perf_counter()
    summary = Summary(output=str(output))
    files = [Records(source, how) for source in inputs]
    summary.format = ", ".join(dict.fromkeys(records.format for records in files))
    about = {"format": summary.format, "input": [fingerprint(source) for source in inputs], "options": _jsonable(how)}
    rejects: list[Rejected] = []
    seen: dict[str, set[str]] = {}
    try:
        with DatasetWriter(output, overwrite=where.overwrite, append=where.append, about=about) as writer:
            with _BackgroundWriter(writer, where.config) as sink:
                for source, records in zip(inputs, files, strict=True):
                    ids = seen.setdefault(source.split, set())
                    _copy(records, source.split, sink, ids, summary, where.fail_on_bad)
                    rejects += records.rejects
                    summary.rows_read += records.rows_read
                    summary.warnings += [
                        f"{text} ({n} times)" if n > 1 else text for text, n in records.warnings.items()
                    ]
            if summary.rows_written == 0 and not where.allow_empty:
                raise Error(_nothing(inputs, rejects))
    except Error:
        rejects = rejects or [reject for records in files for reject in records.rejects]
        _write_rejects(rejects, where.rejects or _beside(output))
        raise
    summary.rows_rejected = len(rejects)
    summary.rejects = _write_rejects(rejects, where.rejects or _beside(output))
    summary.seconds = round(time.perf_counter() - started, 3)
    return summary


def _copy(
    records: Records, split: str, sink: "_BackgroundWriter", ids: set[str], summary: Summary, fail_on_bad: bool
) -> None:
    for record in records:
        if fail_on_bad and records.rejects:
            break
        if record.id in ids:
            where = Where(record.source.file, record.source.row)
            records.rejects.append(
                Rejected(where, "id.duplicate", "the id stands in an earlier row too.", "id", record.id)
            )
            continue
        ids.add(record.id)
        sink.add(record, split)
        summary.rows_written += 1
        summary.splits[split] = summary.splits.get(split, 0) + 1
        summary.images += len(record.images)
        summary.bytes += weight(record)
    if fail_on_bad and records.rejects:
        raise Error(f"{records.rejects[0]} Stopped, because --on-bad fail was given.")


class _BackgroundWriter:
    """Hands chunks of records to one writing thread, two at most under way, so that reading goes on."""

    def __init__(self, writer: DatasetWriter, config: str) -> None:
        self._writer, self._config = writer, config
        self._pool = ThreadPoolExecutor(max_workers=1)
        self._pending: list[Future[None]] = []
        self._chunk: list[Record] = []
        self._bytes, self._split = 0, ""

    def __enter__(self) -> "_BackgroundWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._send()
                for future in self._pending:
                    future.result()
        finally:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def add(self, record: Record, split: str) -> None:
        if split != self._split or self._bytes >= _CHUNK_BYTES or len(self._chunk) >= _CHUNK_RECORDS:
            self._send()
        self._split = split
        self._chunk.append(record)
        self._bytes += weight(record)

    def _send(self) -> None:
        while len(self._pending) >= 2:
            self._pending.pop(0).result()
        if self._chunk:
            self._pending.append(self._pool.submit(self._writer.write, self._chunk, self._split, self._config))
            self._chunk, self._bytes = [], 0


def _beside(output: Path) -> Path:
    output = output.resolve()
    return output.with_name(output.name + ".rejects.jsonl")


def _write_rejects(rejects: Sequence[Rejected], path: Path) -> str | None:
    """Write the rejects file, or remove one that an earlier run left where there are none."""
    if not rejects:
        path.unlink(missing_ok=True)
        return None
    lines = (json.dumps(reject.to_json(), ensure_ascii=False) for reject in rejects)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    write_synced(temporary, ("\n".join(lines) + "\n").encode(errors="backslashreplace"))
    temporary.replace(path)
    return str(path)


def _nothing(inputs: Sequence[Input], rejects: Sequence[Rejected]) -> str:
    if rejects:
        return f"no row could be converted; the first of {len(rejects)} reasons: {rejects[0]}"
    return f"{inputs[0].path}: holds no rows. Give --allow-empty to publish an empty dataset."


def _jsonable(how: ReadOptions) -> dict[str, Any]:
    return {
        "dataset": how.dataset,
        "task": how.task,
        "verify": "decode" if how.decode else "structure",
        "limit": how.limit,
        "keep_urls": how.keep_urls,
    }
