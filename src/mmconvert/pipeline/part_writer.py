"""The shards of one part, filled by whoever hands records over or by a thread that writes while that one reads on."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mmconvert.core.record import Record
from mmconvert.dataset.shards import ROW_GROUP_BYTES, RecordWriter, Shard
from mmconvert.dataset.views import View

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
            return _done(call, *arguments)
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
        return _done(call, *arguments)


def _done(call: Callable[..., Any], *arguments: Any) -> Future[Any]:
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
        self._chunk: list[Record] = []
        self._bytes = 0

    def add(self, record: Record, size: int) -> None:
        """Add a record of about `size` bytes."""
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
