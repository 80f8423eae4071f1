"""What a row must not hold, whatever its format."""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from mmconvert.core.errors import RowError
from mmconvert.core.rows import DELIMITERS, Row
from mmconvert.io.tables import CONTROL

_TABLES = tuple(DELIMITERS)


def refuse_controls(row: Row) -> None:
    r"""Refuse a row of a table with a control character: no editor shows it, and programs end a text there.

    JSON spells such characters out (`\u0000`) and parquet has them in its own bytes; a table has them by accident.

    Raises:
        RowError: `text.control`.
    """
    for name, value in row.fields.items():
        # Nearly all texts are printable, which is told much faster than what else they hold.
        if isinstance(value, str) and not value.isprintable() and (found := CONTROL.search(value)):
            message = f"character {found.start() + 1:,} is the control character U+{ord(found[0]):04X}. Take it out."
            raise RowError("text.control", name, message)


@lru_cache
def is_table(file: str) -> bool:
    """Tell a table by the file's name."""  # all rows of a file ask for it
    return file.lower().endswith(_TABLES)


_MEDIA = re.compile(r"(?:video|audio)s?(?:_(?:\d+|file|path|url)s?)?", re.IGNORECASE)
"""Columns of videos and sounds."""


NO_PLACE = "the format has no place for such a video or sound. Leave the row out."


@lru_cache
def list_media(names: tuple[str, ...]) -> list[str]:
    """List the names that are videos' and sounds'; once for rows that have the same."""
    return [name for name in names if _MEDIA.fullmatch(name)]


def find_swallowed_rows(row: Row) -> Iterator[str]:
    """Remark on cells that look as if they held other rows."""
    if Path(row.where.file).suffix.lower() == ".tsv":
        for name, value in row.fields.items():
            if isinstance(value, str) and "\t" in value and "\n" in value:
                yield (
                    f"line {row.where.line} {name}: tabs and line breaks are inside quotes; is a closing quote missing?"
                )
