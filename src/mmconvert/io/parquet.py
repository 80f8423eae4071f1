"""Parquet as rows of plain Python values, whatever the columns."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace

from mmconvert.core.errors import Error, RowError, take_first_line
from mmconvert.core.rows import Rejected, Row, Span, Where
from mmconvert.io import list_span_ends
from mmconvert.io.jsonl import refuse_other_magic
from mmconvert.io.tables import check_names
from mmconvert.storage.hub_fs import HubPath
from mmconvert.storage.source_files import name_open_file, open_source

BATCH_ROWS = 64
_SUSPICIOUS_ROWS = 1_000_000


def open_parquet(path: Path) -> pq.ParquetFile:
    """Open a parquet file with its page checksums checked on reading.

    Raises:
        Error: The file is empty, another kind of file, damaged, names a column twice, or claims millions of
            rows in so few bytes that they cannot differ (a bomb).
    """
    with open_source(path, 0) as file:
        head = file.read(4)
    if head != b"PAR1":
        refuse_other_magic(head, path, "parquet")
        message = f"{path}: is no parquet file; its first bytes are {head!r}. Write it again, or name it by what it is."
        raise Error(message)
    try:
        parquet = open_checked_parquet(path)
        names = parquet.schema_arrow.names
    except (pa.ArrowException, OSError, MemoryError, UnicodeDecodeError) as error:
        message = f"{path}: is a damaged parquet file ({take_first_line(error)}). Get the whole file again."
        raise Error(message) from None
    check_names(str(path), names)
    rows, size = parquet.metadata.num_rows, path.stat().st_size
    if rows > _SUSPICIOUS_ROWS and size < rows:
        raise Error(f"{path}: claims {rows:,} rows in {size:,} bytes and is not read. Write it again from its source.")
    return parquet


def open_checked_parquet(path: Path) -> pq.ParquetFile:
    """Open a parquet file as it is, here or on the Hub, with its page checksums checked on reading."""
    if isinstance(path, HubPath):
        # All columns of a row group that lie side by side come in one request.
        return pq.ParquetFile(path.open("rb", buffering=0), page_checksum_verification=True, pre_buffer=True)
    # Without pre-buffering, which would hold every picture of the file until its end.
    with open_source(path) as file:
        return pq.ParquetFile(name_open_file(file, path), page_checksum_verification=True, pre_buffer=False)


def rows(path: Path, span: Span | None = None, *, columns: Sequence[str] | None = None) -> Iterator[Row | Rejected]:
    """Read parquet rows.

    Args:
        path: The file.
        span: Row groups to read, None for all.
        columns: Columns to read, None for all.

    Yields:
        A row for each row, with the values as Python has them (structs as dicts, binary as bytes).

    Raises:
        Error: The file is damaged.
    """
    parquet = open_parquet(path)
    number = span.row if span is not None else 0
    groups = range(span.start, span.end) if span is not None else range(parquet.num_row_groups)
    # One by one: a batch over several would hold all of their pictures twice.
    batches = (
        batch
        for group in groups
        for batch in parquet.iter_batches(batch_size=BATCH_ROWS, columns=columns, row_groups=[group])
    )
    while True:
        try:
            batch = next(batches, None)
        except (pa.ArrowException, OSError, MemoryError) as error:
            message = f"{path}: is damaged near row {number} ({take_first_line(error)}). Get the whole file again."
            raise Error(message) from None
        if batch is None:
            return
        yield from _read_batch_rows(batch, path, number)
        number += batch.num_rows


def cut(path: Path, sizes: Sequence[int]) -> Iterator[Span]:
    """Cut a file into spans of whole row groups.

    Args:
        path: The file.
        sizes: Bytes of each span, those of its row groups when they are read; the last one is that of all behind.

    Raises:
        Error: The file is damaged.
    """
    metadata = open_parquet(path).metadata
    ends = list_span_ends(sizes)
    end = next(ends)
    start = row = held = number = 0
    for index in range(metadata.num_row_groups):
        if held >= end:
            yield Span(start, index, row)
            start, row = index, number
            end = next(after for after in ends if after > held)
        group = metadata.row_group(index)
        held += group.total_byte_size
        number += group.num_rows
    yield Span(start, metadata.num_row_groups, row)


def _read_batch_rows(batch: pa.RecordBatch, path: Path, first: int) -> Iterator[Row | Rejected]:
    try:
        values = batch.to_pylist()
    except (ValueError, OverflowError, pa.ArrowException):
        yield from _read_columns(batch, path, first)
        return
    for index, fields in enumerate(values):
        yield Row(fields, Where(path.name, first + index))


def _read_columns(batch: pa.RecordBatch, path: Path, first: int) -> Iterator[Row | Rejected]:
    """Read a batch with a value that has no Python form, column by column."""
    columns = [_list_values(column) for column in batch.columns]
    for index, values in enumerate(zip(*columns, strict=True)):
        where = Where(path.name, first + index)
        row = dict(zip(batch.schema.names, values, strict=True))
        errors = {name: value for name, value in row.items() if isinstance(value, RowError)}
        refused = [Rejected.of(RowError(error.code, name, error.message), where) for name, error in errors.items()]
        fields = {**row, **dict.fromkeys(errors)}
        if refused:
            yield replace(refused[0], row=Row(fields, where), others=tuple(refused[1:]))
        else:
            yield Row(fields, where)


def _list_values(column: pa.Array) -> list[Any]:
    """Give the values of a column, a `RowError` where one cannot be read.

    Python's dates end at the year 9999, know no nanoseconds without pandas and no time zone that is not installed:
    such values are given as the text that Arrow makes of them.
    """
    values: list[Any] = []
    try:
        values = column.to_pylist()
    except (ValueError, OverflowError, pa.ArrowException):
        pass
    else:
        return values
    texts = _cast_times(column)
    for index in range(len(column)):
        try:
            try:
                values.append(column[index].as_py())
            except (ValueError, OverflowError, pa.ArrowException):
                values.append(texts[index].as_py())
        except UnicodeDecodeError:
            values.append(RowError("text.encoding", "", "a text is not UTF-8. Write the file again."))
        except (ValueError, OverflowError, pa.ArrowException) as error:
            message = f"a value has no Python form ({take_first_line(error)}). Write it as text."
            values.append(RowError("value.range", "", message))
    return values


def _cast_times(column: pa.Array) -> pa.Array:
    try:
        return column.cast(_replace_times(column.type))
    except (pa.ArrowException, ValueError):
        return column


def _replace_times(kind: pa.DataType) -> pa.DataType:
    """Give a type in which times are texts, and durations, of which Arrow makes none, counts of their unit."""
    if pa.types.is_duration(kind):
        return pa.int64()
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        # A zone that nobody knows: the point in time, in UTC.
        return pa.timestamp(kind.unit)
    if pa.types.is_temporal(kind):
        return pa.string()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_replace_times(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_replace_times(kind.key_type), _replace_times(kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(_replace_times(kind.value_type))
    if pa.types.is_dictionary(kind):
        return _replace_times(kind.value_type)
    return kind
