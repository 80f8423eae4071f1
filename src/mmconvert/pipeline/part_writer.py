"""The shards of one part, filled by whoever hands records over or by a thread that writes while that one reads on.

Each part tells in its place in a file how far it is, and whoever wants to know reads it.
"""

import contextlib
import shutil
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from io import BufferedIOBase
from pathlib import Path
from typing import Any, NamedTuple

from mmconvert.core.plain_chats import PlainChat
from mmconvert.core.record import Record
from mmconvert.core.rows import Span, Where
from mmconvert.dataset.shards import ROW_GROUP_BYTES, RecordWriter, Shard
from mmconvert.dataset.views import View
from mmconvert.io.parquet import open_checked_parquet
from mmconvert.pipeline.inputs import Input
from mmconvert.storage.temporary import build_temporary_prefix

_CHUNK_BYTES = ROW_GROUP_BYTES // 4
_CHUNK_RECORDS = 1_000
WAITING = 4
"""Calls that may wait: as many chunks as a row group has, so that as much is read while one is written."""
_SMALL_RECORD = 16_000
"""Records of fewer bytes take Python's time, in reading as in writing, so that two threads would only take turns."""


class WritingThread:
    """Does in order what it is handed, a few calls at most waiting, so that memory is bounded.

    Leaving its context waits for all of them; an error in one of them is raised there or by the next `submit`.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1)
        self._pending: list[Future[Any]] = []

    def __enter__(self) -> "WritingThread":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            for future in self._pending if kind is None else ():
                future.result()
        finally:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def submit(self, call: Callable[..., Any], *arguments: Any, here: bool = False) -> Future[Any]:
        """Hand over a call.

        Args:
            call: Is done behind those handed over before.
            arguments: Its arguments.
            here: Do it in this thread.

        Returns:
            What will be its result; waits while too many are waiting.
        """
        while len(self._pending) >= (1 if here else WAITING):
            self._pending.pop(0).result()
        if here:
            return _run_now(call, *arguments)
        future = self._pool.submit(call, *arguments)
        self._pending.append(future)
        return future


class WritingHere:
    """Does at once what it is handed: for a worker among as many as there are cores."""

    def __enter__(self) -> "WritingHere":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, call: Callable[..., Any], *arguments: Any, here: bool = True) -> Future[Any]:
        """Do a call and give its result."""
        return _run_now(call, *arguments)


def _run_now(call: Callable[..., Any], *arguments: Any) -> Future[Any]:
    done: Future[Any] = Future()
    done.set_result(call(*arguments))
    return done


class PartWriter:
    """Hands the records of one part in chunks to who writes them."""

    def __init__(self, folder: Path, name: str, view: View, writing: WritingThread | WritingHere) -> None:
        """Prepare.

        Args:
            folder: Existing folder for the shards.
            name: Beginning of the shards' temporary names, unique in the folder.
            view: How rows are laid out.
            writing: Writes this part behind those that it was handed before.
        """
        self._writer = RecordWriter(folder, name, view.schema, view.batch)
        self._writing = writing
        self._chunk: list[Record | PlainChat] = []
        self._bytes = 0

    def add(self, record: Record | PlainChat, size: int) -> None:
        """Add a record, or a plain conversation, of about `size` bytes."""
        if self._bytes >= _CHUNK_BYTES or len(self._chunk) >= _CHUNK_RECORDS:
            self._send()
        self._chunk.append(record)
        self._bytes += size

    def _send(self) -> None:
        if self._chunk:
            small = self._bytes < len(self._chunk) * _SMALL_RECORD
            self._writing.submit(self._writer.write, self._chunk, self._bytes, here=small)
            self._chunk, self._bytes = [], 0

    def close(self) -> Future[list[Shard]]:
        """End the part; its shards are known when they are written."""
        self._send()
        return self._writing.submit(self._writer.close)


_PLACE = struct.Struct("<qqd")
_SECONDS = 0.25
"""How long a part works before it tells again."""

Told = Callable[[int, int, float | None], None]
"""Takes rows and bytes that were converted, and the part of the work that is done, 0 to 1, None if nobody knows."""


@contextlib.contextmanager
def follow_progress(inputs: Sequence[Input], told: Told | None) -> Iterator[Path | None]:
    """Tell how far the parts of a conversion are, from time to time, while the context lasts.

    Args:
        inputs: All files.
        told: Whom to tell, from a thread; None for nobody.

    Yields:
        What parts need as their `tally`. Those on another machine do not see it and tell nothing.
    """
    if told is None:
        yield None
        return
    try:
        folder = tempfile.mkdtemp(prefix=build_temporary_prefix())
        file = Path(folder, "tally")
        file.touch()
    except OSError:  # whoever has no room for this may have room for the dataset
        yield None
        return
    whole = max(1, sum(_measure_size(source.path) for source in inputs))
    over = threading.Event()
    thread = threading.Thread(target=_watch_progress, args=(file, whole, told, over), daemon=True)
    thread.start()
    try:
        yield file
    finally:
        over.set()
        thread.join()
        shutil.rmtree(folder, ignore_errors=True)


def _watch_progress(file: Path, whole: int, facts: Told, over: threading.Event) -> None:
    while not over.wait(_SECONDS):
        data = file.read_bytes()
        places = list(_PLACE.iter_unpack(data[: len(data) // _PLACE.size * _PLACE.size]))
        rows, size, done = (sum(column) for column in zip(*places, strict=True)) if places else (0, 0, 0.0)
        facts(int(rows), int(size), min(1.0, done / whole) if done else None)


class Tally:
    """Tells how far one part is; nothing where nobody asked."""

    def __init__(self, file: Path | None, index: int, path: Path, span: Span | None, limit: int | None) -> None:
        """Find out how much there is to do, where somebody asked.

        Args:
            file: What `follow_progress` gave; None where nobody asked.
            index: Place of the part among all of them.
            path: The file that is converted.
            span: Piece of it, None for all.
            limit: Most records, None for any number.
        """
        self._file: BufferedIOBase | None = None
        if file is None:
            return
        with contextlib.suppress(OSError):
            self._file = file.open("rb+")
        self._at = index * _PLACE.size
        self._limit = limit
        self._extent = measure_extent(path, span)
        self._rows = self._bytes = 0
        self._next = time.monotonic() + _SECONDS

    def add(self, size: int, where: Where, rows: int = 1) -> None:
        """Count a record of `size` bytes, made from the row at a place, or several up to there."""
        if self._file is None:
            return
        self._rows += rows
        self._bytes += size
        if (now := time.monotonic()) >= self._next:
            self._next = now + _SECONDS
            self._write_share(self._compute_share(where))

    def _compute_share(self, where: Where) -> float:
        limited = self._rows / self._limit if self._limit is not None else 0.0
        return max(min(1.0, limited), self._extent.share(where))

    def _write_share(self, share: float) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.seek(self._at)
                self._file.write(_PLACE.pack(self._rows, self._bytes, share * self._extent.bytes))
                self._file.flush()

    def close(self) -> None:
        """Tell that the part is done."""
        if self._file is not None:
            self._write_share(1.0)
            self._file.close()
            self._file = None


class Extent(NamedTuple):
    """Where a file or a piece of it begins and how long it is, in bytes or rows; how many bytes it is."""

    start: int
    length: int
    bytes: int
    in_rows: bool = False

    def share(self, where: Where) -> float:
        """Give the part of it that is read when a row at a place is, 0 to 1; 0 where the place does not say it."""
        place = where.row if self.in_rows else where.offset
        return 0.0 if place is None or not self.length else min(1.0, (place - self.start) / self.length)


def measure_extent(path: Path, span: Span | None = None) -> Extent:
    """Measure a file, or a piece of it, without reading a row."""
    size = _measure_size(path)
    if path.suffix.lower() != ".parquet" or not path.is_file():
        start, end = (0, size) if span is None else (span.start, span.end)
        return Extent(start, end - start, end - start)
    import pyarrow as pa

    try:
        metadata = open_checked_parquet(path).metadata
    except (pa.ArrowException, OSError):
        return Extent(0, 0, size)
    groups = range(metadata.num_row_groups) if span is None else range(span.start, span.end)
    rows = sum(metadata.row_group(group).num_rows for group in groups)
    own = round(size * rows / max(1, metadata.num_rows))
    return Extent(0 if span is None else span.row, rows, own, in_rows=True)


def _measure_size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
