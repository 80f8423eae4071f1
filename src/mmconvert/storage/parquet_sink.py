"""Files that pyarrow writes to: one keeps its first error, one writes block by block, one also knows its sha256.

pyarrow 26 ends the whole process where a write fails under content-defined chunking (a check in
parquet/column_writer.cc), so a full disk may not reach it.

Large files go past the page cache, where the system can (`O_DIRECT` of Linux). The cache gains nothing from a file
that is written once, and taking its pages from the system costs more than the write itself where memory is scarce or
lent, as in most virtual machines; whatever else the machine keeps there stays. Blocks must be whole, and their memory
begin with a page.
"""

import errno
import hashlib
import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Self

import pyarrow as pa

from mmconvert.core.buffers import take

_DIRECT = getattr(os, "O_DIRECT", 0)
_BLOCKS = 3
_BLOCK = 2 << 20
"""Bytes of a block: few writes, and still near the processor when it is full."""
_GATHERED = 1 << 20


class OutputFile:
    """A new binary file; give it to `pyarrow.parquet.ParquetWriter` and call `check` after each write."""

    def __init__(self, path: Path) -> None:
        """Open the file, replacing one that stands there.

        Raises:
            OSError: It cannot be made.
        """
        self._file = path.open("wb", buffering=0)
        self._error: OSError | None = None

    def __enter__(self) -> Self:
        """Give the file."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close the file, and raise what a write has met."""
        self.close()
        if kind is None:
            self.check()

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._file.closed

    def write(self, data: Any) -> int:
        """Write bytes; after an error nothing is written any more."""
        rest = memoryview(data)
        try:
            while rest and self._error is None and not self._file.closed:
                rest = rest[self._put(rest) :]
        except OSError as error:
            self._error = error
        return len(data)

    def _put(self, rest: memoryview) -> int:
        return self._file.write(rest)

    def flush(self) -> None:
        """Do nothing: every write goes through."""

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def check(self) -> None:
        """Raise what a write has met.

        Raises:
            OSError: The file is not whole.
        """
        if self._error is not None:
            raise self._error


class BlockFile(OutputFile):
    """Gathers blocks that another thread writes to the disk; `finish` ends the file.

    Attributes:
        stream: What pyarrow writes to: it gathers small pieces, each of which would wait for Python otherwise.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, replacing one that stands there.

        Raises:
            OSError: It cannot be made.
        """
        super().__init__(path)
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._sent: list[Future[None]] = []
        self._free: SimpleQueue[memoryview] = SimpleQueue()
        for _ in range(_BLOCKS):
            self._free.put(memoryview(take(_BLOCK)).cast("B"))
        self._begin_block()
        self._direct = True
        self.stream = pa.BufferedOutputStream(pa.PythonFile(self, mode="w"), _GATHERED)

    def write(self, data: Any) -> int:
        """Take bytes; they are written when a block is full, and not after an error."""
        rest = memoryview(data)
        while rest:
            taken = rest[: len(self._block) - self._filled]
            self._filling.write(taken)
            self._filled += len(taken)
            rest = rest[len(taken) :]
            if self._filled == len(self._block):
                self._send()
        return len(data)

    def _begin_block(self) -> None:
        self._block, self._filled = self._free.get(), 0
        # Arrow copies while other threads run Python; an assignment to the view would not.
        self._filling = pa.FixedSizeBufferWriter(pa.py_buffer(self._block))

    def _send(self) -> None:
        self._sent.append(self._thread.submit(self._store, self._block, self._filled))
        self._begin_block()

    def _store(self, block: memoryview, size: int) -> None:
        try:
            self._direct = self._direct and set_direct(self._file.fileno(), size == len(block))
            super().write(block[:size])
        finally:
            self._free.put(block)

    def _put(self, rest: memoryview) -> int:
        try:
            return super()._put(rest)
        except OSError as error:
            if error.errno != errno.EINVAL or not self._direct:
                raise
        # Some file systems say only now that they cannot, and none can where a write before was cut short.
        self._direct = set_direct(self._file.fileno(), on=False)
        return super()._put(rest)

    def sync_later(self) -> None:
        """Begin to bring what was written to the disk, where it is not there already.

        Raises:
            OSError: What a write has met.
        """
        self.check()
        if self._sent and not self._direct:
            self._sent.append(self._thread.submit(os.fsync, self._file.fileno()))

    def finish(self) -> None:
        """Wait until all is on the disk, and close the file.

        Raises:
            OSError: The file is not whole.
        """
        self.stream.flush()
        self._send()
        self._sent.append(self._thread.submit(os.fsync, self._file.fileno()))
        for sent in self._sent:
            sent.result()
        self._thread.shutdown()
        self.stream.close()
        self.check()
        del self._filling, self._block
        while not self._free.empty():
            self._free.get()


class HashedFile(BlockFile):
    """Hashes bytes while they are near the processor."""

    def __init__(self, path: Path) -> None:
        """Open the file, replacing one that stands there.

        Raises:
            OSError: It cannot be made.
        """
        super().__init__(path)
        self._digest = hashlib.sha256()

    def write(self, data: Any) -> int:
        """Take bytes; they are written when a block is full, and not after an error."""
        self._digest.update(data)
        return super().write(data)

    @property
    def digest(self) -> str:
        """The sha256 of what was written, as hex."""
        return self._digest.hexdigest()


def set_direct(handle: int, on: bool) -> bool:
    """Switch an open file between direct writes and those through the cache.

    Returns:
        Whether writes are direct now; always False where the system or its file system cannot.
    """
    if not _DIRECT:
        return False
    import fcntl  # not on every system

    flags = fcntl.fcntl(handle, fcntl.F_GETFL)
    try:
        fcntl.fcntl(handle, fcntl.F_SETFL, flags | _DIRECT if on else flags & ~_DIRECT)
    except OSError:
        return False
    return on
