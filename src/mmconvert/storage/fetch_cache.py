"""Keep what was fetched in a folder, so that a run that was killed fetches nothing twice.

Each process appends to a file of its own: to make a file takes longer than to write an image. A record is the SHA-256
of the address, that of the data, the size of the data in 8 bytes, and the data, so that one that a killed run has not
written to its end is not taken.
"""

import contextlib
import os
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

_DIGEST = sha256().digest_size
_HEAD = 2 * _DIGEST + 8
_SUFFIX = ".fetched"


class FetchCache:
    """What earlier runs and this process have fetched, by address; to be used by one thread."""

    def __init__(self, folder: Path) -> None:
        """Open what is kept in a folder; nothing is, where it cannot be read."""
        self._folder = folder
        self._files: list[BinaryIO] = []
        self._places: dict[bytes, tuple[BinaryIO, int, int]] = {}
        self._own: BinaryIO | None = None
        self._end = 0
        self._is_full = False
        with contextlib.suppress(OSError):
            for path in sorted(folder.glob(f"*{_SUFFIX}")):
                self._files.append(path.open("rb", buffering=0))
                self._list_records(self._files[-1])

    def _list_records(self, file: BinaryIO) -> None:
        at, size = 0, os.fstat(file.fileno()).st_size
        while at + _HEAD <= size:
            file.seek(at)
            head = file.read(_HEAD)
            length = int.from_bytes(head[2 * _DIGEST :], "big")
            if at + _HEAD + length > size:
                return
            self._places[head[:_DIGEST]] = file, at, length
            at += _HEAD + length

    def read(self, url: str, most: int) -> bytes | None:
        """Read what stands at an address.

        Args:
            url: The address.
            most: Bytes above which nothing is read.

        Returns:
            The data; None where nothing is kept, too much, or what is damaged.
        """
        found = self._places.get(sha256(url.encode()).digest())
        if found is None or found[2] > most:
            return None
        file, at, length = found
        with contextlib.suppress(OSError):
            file.seek(at + _DIGEST)
            record = file.read(_DIGEST + 8 + length)
            data = record[_DIGEST + 8 :]
            if sha256(data).digest() == record[:_DIGEST]:
                return data
        return None

    def keep(self, url: str, data: bytes) -> None:
        """Keep what was fetched; where the disk is full, the run goes on without."""
        if self._is_full:
            return
        key = sha256(url.encode()).digest()
        record = b"".join((key, sha256(data).digest(), len(data).to_bytes(8, "big"), data))
        try:
            if self._own is None:
                self._own = os.fdopen(tempfile.mkstemp(_SUFFIX, "", self._folder)[0], "r+b", buffering=0)
                self._files.append(self._own)
            self._own.seek(self._end)
            self._is_full = self._own.write(record) != len(record)
        except OSError:
            self._is_full = True
        if self._own is not None and not self._is_full:
            self._places[key] = self._own, self._end, len(data)
            self._end += len(record)

    def close(self) -> None:
        """Close the files; what is kept stays."""
        for file in self._files:
            file.close()
