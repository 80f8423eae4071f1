"""A file for pyarrow to write to that keeps the first error until it is asked for.

pyarrow 26 ends the whole process where a write fails under content-defined chunking (a check in
parquet/column_writer.cc), so a full disk may not reach it.
"""

from pathlib import Path
from types import TracebackType
from typing import Any


class OutputFile:
    """A new binary file; give it to `pyarrow.parquet.ParquetWriter` and call `check` after each write."""

    def __init__(self, path: Path) -> None:
        """Open the file, replacing one that stands there.

        Raises:
            OSError: It cannot be made.
        """
        self._file = path.open("wb", buffering=0)
        self._error: OSError | None = None

    def __enter__(self) -> "OutputFile":
        """Give the file."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
