"""A file that knows its sha256 when it is complete, and is on the disk then."""

import hashlib
import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa

from mmconvert.output_file import OutputFile

_BUFFER = 1 << 20


class HashedFile(OutputFile):
    """Hashes bytes as they are written, while they are still near the processor.

    Another thread brings them to the disk meanwhile, so that little is left to wait for at the end.

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
        self._syncs: list[Future[None]] = []
        self.stream = pa.BufferedOutputStream(pa.PythonFile(self, mode="w"), _BUFFER)

    def write(self, data: Any) -> int:
        """Write bytes; after an error nothing is written any more."""
        self._digest.update(data)
        return super().write(data)

    def sync_later(self) -> None:
        """Begin to bring what was written to the disk.

        Raises:
            OSError: What a write has met.
        """
        self.stream.flush()
        self.check()
        self._syncs.append(self._thread.submit(os.fsync, self._file.fileno()))

    def finish(self) -> str:
        """Wait until all is on the disk, close the file and give its sha256 as hex.

        Raises:
            OSError: The file is not whole.
        """
        self.sync_later()
        for sync in self._syncs:
            sync.result()
        self._thread.shutdown()
        self.stream.close()
        return self._digest.hexdigest()
