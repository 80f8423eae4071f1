"""Parquet as rows of plain Python values, whatever the columns."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mmconvert.errors import Error
from mmconvert.sources import Rejected, Row, Span, Where
from mmconvert.sources.jsonl import refuse_other_magic

MAX_ROWS = 5_000_000
BATCH_ROWS = 64


def open_parquet(path: Path, *, max_rows: int = MAX_ROWS) -> pq.ParquetFile:
    """Open a parquet file with its page checksums checked on reading.

    Raises:
        Error: The file is empty, another kind of file, damaged, or claims more than `max_rows` rows.
    """
    with path.open("rb") as file:
        head = file.read(4)
    if head != b"PAR1":
        refuse_other_magic(head, path, "parquet")
        raise Error(f"{path}: is no parquet file; its first bytes are {head!r}.")
    try:
        parquet = pq.ParquetFile(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError, MemoryError) as error:
        raise Error(f"{path}: is a damaged parquet file ({str(error).splitlines()[0]}).") from None
    if parquet.metadata.num_rows > max_rows:
        raise Error(f"{path}: claims {parquet.metadata.num_rows:,} rows; the limit is {max_rows:,}.")
    return parquet


def rows(path: Path, span: Span | None = None, *, columns: Sequence[str] | None = None) -> Iterator[Row | Rejected]:
    """Read parquet rows.

    Args:
        path: The file.
        span: Not used; parquet is cut by row groups.
        columns: Columns to read, None for all.

    Yields:
        A row for each row, with the values as Python has them (structs as dicts, binary as bytes).

    Raises:
        Error: The file is damaged.
    """
    parquet = open_parquet(path)
    number = 0
    batches = parquet.iter_batches(batch_size=BATCH_ROWS, columns=columns)
    while True:
        try:
            batch = next(batches, None)
            values = batch.to_pylist() if batch is not None else None
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise Error(f"{path}: is damaged near row {number} ({str(error).splitlines()[0]}).") from None
        if values is None:
            return
        for fields in values:
            yield Row(fields, Where(path.name, number))
            number += 1
