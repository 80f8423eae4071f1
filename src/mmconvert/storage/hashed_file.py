"""A file that knows its sha256 when it is complete, and is on the disk then."""

import errno
import hashlib
import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pyarrow as pa

from mmconvert.core.buffers import take
from mmconvert.storage.direct_io import set_direct
from mmconvert.storage.output_file import OutputFile

_BLOCKS = 3
_BLOCK = 2 << 20
"""Bytes of a block: few writes, and still near the processor when it is full."""
_GATHERED = 1 << 20


class HashedFile(OutputFile):
    """Hashes bytes while they are near the processor, and gathers blocks that another thread writes to the disk.

    Attributes:
        stream: What pyarrow writes to: it gathers small pieces, each of which would wait for Python otherwise.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, replacing one that stands there.

        Raises:
            OSError: It cannot be made.
        """
        super().__init__(path)
        self._digest = hashlib.sha256()
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
        self._digest.update(data)
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

    def finish(self) -> str:
        """Wait until all is on the disk, close the file and give its sha256 as hex.

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
        return self._digest.hexdigest()
