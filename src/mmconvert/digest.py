"""sha256 of files: of one that is there, and of one while it is being written."""

import hashlib
import mmap
import os
from concurrent.futures import Future, ThreadPoolExecutor
from io import BufferedReader
from pathlib import Path
from typing import Any

_WINDOW = 64 << 20


def hash_file(path: Path) -> str:
    """Give the sha256 of a file as hex."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        _update(digest, file, 0, path.stat().st_size)
    return digest.hexdigest()


class Follower:
    """Hashes a file and brings it to the disk, in a thread of its own, while another one writes it.

    The bytes are hashed while they are still in memory, and when the file is complete little is left to
    wait for.
    """

    def __init__(self, path: Path) -> None:
        """Follow a file that exists."""
        self._file = path.open("rb")
        self._digest = hashlib.sha256()
        self._done = 0
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._pending: list[Future[None]] = []

    def grown(self, size: int) -> None:
        """Say that the first `size` bytes of the file stay as they are."""
        self._pending.append(self._thread.submit(self._advance, size))

    def finish(self, size: int) -> str:
        """Wait until the complete file of `size` bytes is on the disk and give its sha256 as hex."""
        self.grown(size)
        for future in self._pending:
            future.result()
        self._thread.shutdown()
        self._file.close()
        return self._digest.hexdigest()

    def _advance(self, size: int) -> None:
        _update(self._digest, self._file, self._done, size)
        self._done = size
        os.fsync(self._file.fileno())


def _update(digest: Any, file: BufferedReader, start: int, end: int) -> None:
    # Mapped windows: few calls that each free the interpreter's lock for long, and flat memory.
    while start < end:
        base = start - start % mmap.ALLOCATIONGRANULARITY
        stop = min(base + _WINDOW, end)
        with (
            mmap.mmap(file.fileno(), stop - base, access=mmap.ACCESS_READ, offset=base) as window,
            memoryview(window) as view,
            view[start - base :] as new,
        ):
            digest.update(new)
        start = stop
