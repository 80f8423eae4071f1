"""Files of rows read by their ending, for formats that come in several."""

from collections.abc import Iterator
from pathlib import Path

from mmconvert.core.rows import DELIMITERS, Rejected, Row, Span
from mmconvert.io import json_array, jsonl, parquet, tables


def read_rows(path: Path, span: Span | None = None) -> Iterator[Row | Rejected]:
    """Read JSON Lines, a JSON array, parquet, or a text table.

    Args:
        path: The file.
        span: Piece to read, None for all.

    Yields:
        A row for each that can be read, `Rejected` for any other.

    Raises:
        Error: The file is empty or of another kind.
    """
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return parquet.rows(path, span)
    if suffix in DELIMITERS:
        return tables.rows(path, span)
    return json_array.rows(path, span) if suffix == ".json" else jsonl.rows(path, span)
