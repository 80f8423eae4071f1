"""Write rows as TSV, CSV or JSON Lines so that our own readers give back the same cells."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from mmconvert.core.errors import Error, quote_value
from mmconvert.core.record import encode_json
from mmconvert.core.rows import DELIMITERS
from mmconvert.core.text.csv_injection import escape_formula
from mmconvert.io.tables import CONTROL
from mmconvert.plugins.format import Target


def write_jsonl(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write one JSON object a line."""
    with path.open("wb") as file:
        for row in rows:
            try:
                file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
            except TypeError:
                file.write(encode_json(row).encode() + b"\n")


def write_json_array(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write one JSON array, an element a line."""
    with path.open("wb") as file:
        separator = b"[\n"
        for row in rows:
            file.write(separator + encode_json(row).encode())
            separator = b",\n"
        file.write(b"\n]\n" if separator == b",\n" else b"[]\n")


def write_json_object(head: Mapping[str, Any], name: str, rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write a JSON object whose last member lists rows, one a line."""
    with path.open("wb") as file:
        file.write(encode_json({**head, name: []}).encode()[:-2])
        separator = b"\n"
        for row in rows:
            file.write(separator + encode_json(row).encode())
            separator = b",\n"
        file.write(b"\n]}\n")


class TableWriter:
    """Writes a TSV (or CSV, by suffix) whose columns are found in a first pass over the rows."""

    def __init__(self, target: Target, first: Iterable[str] = ()) -> None:
        """Prepare.

        Args:
            target: Path and `csv_safe`.
            first: Columns that stand first where they occur, in this order.
        """
        self._target, self._first = target, tuple(first)
        self._delimiter = DELIMITERS.get(target.path.suffix.lower(), b"\t").decode()

    def __enter__(self) -> "TableWriter":
        """Open the file."""
        self._file = self._target.path.open("w", encoding="utf-8", newline="")
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()

    def write_all(self, rows: Callable[[], Iterable[Mapping[str, Any]]]) -> None:
        """Write header and rows.

        Args:
            rows: Makes the rows again each time; called twice. Lists and objects are written as JSON.

        Raises:
            Error: The name of a column holds a control character, and nobody would read the table.
        """
        found = dict.fromkeys(name for row in rows() for name, value in row.items() if value is not None)
        if any(CONTROL.search(name) for name in found):
            name = next(name for name in found if CONTROL.search(name))
            told = f"the column {quote_value(name)} holds a control character, which no header of a table may"
            raise Error(f"{self._target.path.name}: {told}. Write JSON Lines or parquet, or rename the column.")
        columns = [name for name in self._first if name in found] + [name for name in found if name not in self._first]
        self._write_line(columns)
        for row in rows():
            self._write_line([row.get(name) for name in columns])

    def _write_line(self, values: Iterable[Any]) -> None:
        self._file.write(self._delimiter.join(map(self._format_cell, values)) + "\n")

    def _format_cell(self, value: Any) -> str:
        if value is None:
            return ""
        text = value if isinstance(value, str) else encode_json(value)
        if self._target.csv_safe:
            text = escape_formula(text)
        if text.startswith('"') or any(c in text for c in (self._delimiter, "\n", "\r")):
            return '"' + text.replace('"', '""') + '"'
        return text


def write_rows(rows: Callable[[], Iterable[Mapping[str, Any]]], target: Target, first: Iterable[str] = ()) -> None:
    """Write rows as a table, JSON Lines or one JSON array, by the target's suffix.

    Args:
        rows: Makes the rows; called twice for a table.
        target: Path and `csv_safe`.
        first: Columns that stand first in a table; see `TableWriter`.
    """
    suffix = target.path.suffix.lower()
    if suffix in DELIMITERS:
        with TableWriter(target, first) as table:
            table.write_all(rows)
    else:
        (write_json_array if suffix == ".json" else write_jsonl)(rows(), target.path)
