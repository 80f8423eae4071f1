"""One raw row of a source file, its place, and a row that was rejected."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from mmconvert.core.error_hints import add_hint
from mmconvert.core.errors import RowError
from mmconvert.core.plugin_struct import PluginStruct


class Where(PluginStruct, frozen=True, gc=False):
    """Bare file name, 0-based record number, 1-based physical line and byte offset where there are any."""

    file: str
    row: int
    line: int | None = None
    offset: int | None = None

    def __str__(self) -> str:
        """Give `file:line`, or `file row N` where there are no lines."""
        return f"{self.file}:{self.line}" if self.line is not None else f"{self.file} row {self.row}"

    @property
    def stem(self) -> str:
        """The file's name without its last suffix."""
        return _read_stem(self.file)


@lru_cache
def _read_stem(file: str) -> str:
    # All rows of a file ask for it.
    return PurePath(file).stem


class Row(PluginStruct, frozen=True, gc=False):
    """One raw record: the source's own field names, None for an empty cell.

    `remarks` is what the source noticed about the file as a whole; it stands on the first row.
    """

    fields: Mapping[str, Any]
    where: Where
    remarks: tuple[str, ...] = ()


class Rejected(PluginStruct, frozen=True, gc=False):
    """One record that was refused, and why; a line of the rejects file.

    Attributes:
        row: What could be read of it all the same, None for fields that could not; for `mmconvert check` alone.
        others: Further fields that could not be read, and why.
    """

    where: Where
    code: str
    message: str
    field: str = ""
    id: str | None = None
    row: Row | None = None
    others: tuple["Rejected", ...] = ()

    @classmethod
    def of(cls, error: RowError, where: Where, id: str | None = None) -> "Rejected":
        """Add the place to an error of one row."""
        return cls(where, error.code, error.message, error.field, id)

    def __str__(self) -> str:
        """Give the message in the template of every error, what to do at its end."""
        place = f"{self.where} {self.field}" if self.field else str(self.where)
        return f"{place}: {add_hint(self.code, self.field, self.message)}"

    def to_json(self) -> dict[str, Any]:
        """Give the object that stands in the rejects file."""
        return {
            "row": self.where.row,
            "line": self.where.line,
            "id": self.id,
            "field": self.field,
            "code": self.code,
            "message": add_hint(self.code, self.field, self.message),
            "file": self.where.file,
        }


class Span(PluginStruct, frozen=True):
    """A piece of a file that begins with a record; a source's `cut` makes them.

    Attributes:
        start: First byte (or row group, for parquet).
        end: No record of the piece begins at this byte (or row group) or behind it.
        row: Number of the first record in the file.
        line: Physical line of the first record.
    """

    start: int
    end: int
    row: int = 0
    line: int = 1


MOST_ROW_BYTES = 64 << 20
"""Bytes of one raw row, images that stand in it as text among them. A row passes through several hands, and each
keeps a copy."""


def build_too_large_error(size: int | None = None, field: str = "") -> RowError:
    """Make the error for a row that is larger than rows are read.

    Args:
        size: Its bytes, None where nobody counted them to the end.
        field: The field that they stand in, "" for the row as a whole.

    Example:
        >>> build_too_large_error(100_000_000).message
        'the row holds 100,000,000 bytes, over the limit of 64 MiB. Give its images as files, or leave the row out.'
    """
    holds = "more" if size is None else f"{size:,} bytes"
    limit = f"{'than' if size is None else 'over'} the limit of {MOST_ROW_BYTES >> 20} MiB"
    advice = "Give its images as files, or leave the row out."
    return RowError("row.too_large", field, f"the row holds {holds}{' ' if size is None else ', '}{limit}. {advice}")


def build_encoding_error(error: UnicodeDecodeError, field: str = "") -> RowError:
    r"""Make the error for text that is not UTF-8, with the byte and what it may have been.

    Args:
        error: As `bytes.decode` raises it.
        field: The field that the text stands in, "" for the row as a whole.

    Example:
        >>> try: b"caf\xe9".decode()
        ... except UnicodeDecodeError as error: build_encoding_error(error).message
        "byte 4 is 0xE9, which is not UTF-8 ('é' in Windows-1252)."
    """
    wrong = error.object[error.start : error.start + 1]
    meant = wrong.decode("cp1252", errors="ignore")
    known = f" ({meant!r} in Windows-1252)" if meant else ""
    return RowError("text.encoding", field, f"byte {error.start + 1:,} is 0x{wrong[0]:02X}, which is not UTF-8{known}.")


DELIMITERS = {".tsv": b"\t", ".csv": b","}


READERS = {
    ".jsonl": "jsonl",
    ".json": "json_head",
    ".tsv": "tables",
    ".csv": "tables",
    ".parquet": "parquet",
    ".xlsx": "xlsx",
}
"""Suffix -> module of `mmconvert.io` that shows the first rows of such a file."""
