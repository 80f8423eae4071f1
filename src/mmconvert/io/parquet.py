"""Parquet as rows of plain Python values, whatever the columns.

What the pages of a file unfold to is looked up before they are read (`parquet_pages`), and rows are read in batches
that are bounded by it: a text stands in a dictionary once and may be the value of every row.
"""

import itertools
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from functools import lru_cache, partial
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace

from mmconvert.core.errors import Error, RowError, quote_value, take_first_line
from mmconvert.core.rows import MOST_ROW_BYTES, Rejected, Row, Span, Where, build_too_large_error
from mmconvert.io import list_span_ends
from mmconvert.io.json_lines import refuse_other_magic
from mmconvert.io.parquet_footer import MAGIC, build_footer_file, find_bad_footer, read_footer
from mmconvert.io.parquet_pages import BadPageError, Page, find_most_bytes, list_pages
from mmconvert.io.tables import check_names
from mmconvert.storage.hub_fs import HubPath
from mmconvert.storage.source_files import name_open_file, open_source

BATCH_ROWS = 64
BATCH_BYTES = 128 << 20
"""Most bytes that a batch of several rows may unfold to."""
_AHEAD_FROM = 12
"""Number of the batch from which on the next is read ahead: whoever looks at a few rows of a far file stops before."""
_AHEAD, _AHEAD_BYTES = 2, 32 << 20
"""Batches that are read ahead, and the size of one beside which none is."""
PAGE_BYTES = 256 << 20
"""A page that unfolds to more is read only where it is about as large in the file."""
UNFOLDED_BYTES = 512 << 20
"""What the rows of a file of any size may unfold to, and `MOST_TIMES` what its own is."""
MOST_TIMES = 100
"""Tables of texts unfold to some twenty times their size where they are packed best."""
EACH_ROW_BYTES = 1 << 10
"""What each of many rows may unfold to beside: a million short rows that are alike are packed a thousandfold."""
_SUSPICIOUS_ROWS = 1_000_000
_SMALL_DICTIONARY = 16 << 20
"""One of this size is read ahead to see how long its texts are, and may be handed on with every batch."""
_DICTIONARY_ROWS = 256
_WIDEST_NUMBER = 16
_SMALL_BATCH = 256 << 10
_OBJECT = 64
"""Bytes that Python takes for a value beside its text, about."""

_Sized = tuple[pa.RecordBatch, int]
"""A batch, and about what it takes as values of Python."""
_NO_PYTHON_FORM = (ValueError, OverflowError, pa.ArrowException, KeyError)
"""What pyarrow raises for a value that Python cannot hold; a `KeyError` for a time zone that pytz does not know."""


def open_parquet(path: Path) -> pq.ParquetFile:
    """Open a parquet file with its page checksums checked on reading.

    Raises:
        Error: The file is empty, another kind of file, damaged, names a column twice, or claims millions of
            rows in so few bytes that they cannot differ (a bomb).
    """
    return _open_with_footer(path)[0]


def _open_with_footer(path: Path) -> tuple[pq.ParquetFile, bytes]:
    """Open a parquet file by the footer that is given with it."""
    with open_source(path, 0) as file:
        head = file.read(len(MAGIC))
        footer = read_footer(file) if head == MAGIC else None
    if head != MAGIC:
        refuse_other_magic(head, path, "parquet")
        message = (
            f"{path}: is not a parquet file; its first bytes are {head!r}. Write it again, or name it by what it is."
        )
        raise Error(message)
    try:
        # Where the file does not end as it must, pyarrow says so.
        metadata = None if footer is None else pq.read_metadata(pa.BufferReader(build_footer_file(footer)))
        parquet = open_checked_parquet(path, metadata=metadata)
        names = parquet.schema_arrow.names
    except (pa.ArrowException, OSError, MemoryError, UnicodeDecodeError) as error:
        # A footer that says that it has a billion parts asks for as much memory.
        message = f"{path}: is a damaged parquet file ({take_first_line(error)}). Get the whole file again."
        raise Error(message) from None
    check_names(str(path), names)
    rows, size = parquet.metadata.num_rows, path.stat().st_size
    if rows > _SUSPICIOUS_ROWS and size < rows:
        raise Error(f"{path}: claims {rows:,} rows in {size:,} bytes and is not read. Write it again from its source.")
    return parquet, footer or b""


def open_checked_parquet(
    path: Path, dictionaries: Sequence[str] = (), metadata: pq.FileMetaData | None = None
) -> pq.ParquetFile:
    """Open a parquet file as it is, here or on the Hub, with its page checksums checked on reading.

    Args:
        path: The file.
        dictionaries: Leaves that are read as the dictionaries that they are in the file.
        metadata: The file's footer, if it has been read before.
    """
    options: dict[str, Any] = {"page_checksum_verification": True, "read_dictionary": list(dictionaries)}
    options["metadata"] = metadata
    if isinstance(path, HubPath):
        # All columns of a row group that lie side by side come in one request.
        return pq.ParquetFile(path.open("rb", buffering=0), pre_buffer=True, **options)
    # Without pre-buffering, which would hold every image of the file until its end.
    with open_source(path) as file:
        return pq.ParquetFile(name_open_file(file, path), pre_buffer=False, **options)


def read_batches(
    path: Path,
    columns: Sequence[str] | None = None,
    *,
    groups: Iterable[int] | None = None,
    most_rows: int = BATCH_ROWS,
    most_bytes: int = UNFOLDED_BYTES,
) -> Iterator[pa.RecordBatch]:
    """Read a file in batches that are bounded by what they unfold to.

    Args:
        path: The file.
        columns: Columns to read, None for all.
        groups: Row groups to read, None for all.
        most_rows: Most rows of a batch.
        most_bytes: What the rows of a file of any size may unfold to; a larger one may to `MOST_TIMES` its own, and
            one of many rows to `EACH_ROW_BYTES` a row.

    Yields:
        Batches in order; one that is larger than `BATCH_BYTES` holds one row, as a rule.

    Raises:
        Error: A page, a row or all rows together unfold to far more than the file holds, or the file is damaged.
        ArrowException: As the reader finds damage.
        OSError: As the reader finds damage.
    """
    for batch, _ in _read_sized_batches(path, columns, groups, most_rows, most_bytes):
        yield batch


def _read_sized_batches(
    path: Path, columns: Sequence[str] | None, groups: Iterable[int] | None, most_rows: int, most_bytes: int
) -> Iterator[_Sized]:
    parquet, footer = _open_with_footer(path)
    if told := find_bad_footer(footer, parquet.schema):
        raise Error(f"{path}: {told}")
    most = max(most_bytes, MOST_TIMES * path.stat().st_size, parquet.metadata.num_rows * _find_row_bytes(parquet))
    unfolded = number = 0
    # One by one: a batch over several would hold all of their images twice.
    for group in range(parquet.num_row_groups) if groups is None else groups:
        try:
            plan = _plan(parquet, path, group, columns, most_rows)
        except UnicodeDecodeError:
            told = "is a damaged parquet file (the name of a column is not UTF-8)"
            raise Error(f"{path}: {told}. Get the whole file again.") from None
        source = open_checked_parquet(path, plan.dictionaries, parquet.metadata) if plan.dictionaries else parquet
        # One column has the images, and a thread reads them ahead: Arrow's own threads would take turns with it.
        batches = source.iter_batches(batch_size=plan.rows, columns=columns, row_groups=[group], use_threads=False)
        for batch in batches:
            size = _measure_batch(batch)
            unfolded += size
            if unfolded > most:
                told = f"its {path.stat().st_size:,} bytes unfold to more than {most:,}"
                raise Error(f"{path}: {told}, and the rest is not read. Write it again from its source.")
            if plan.dictionaries:
                if size > BATCH_BYTES:
                    told = f"a row near row {number} unfolds to more than {BATCH_BYTES:,} bytes"
                    raise Error(f"{path}: {told} and is not read. Leave it out.")
                batch = _restore_types(batch, parquet.schema_arrow)
            number += batch.num_rows
            yield batch, size


def _find_row_bytes(parquet: pq.ParquetFile) -> int:
    return EACH_ROW_BYTES + _OBJECT * int(parquet.metadata.num_columns)


def _restore_types(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    names = batch.schema.names
    return pa.RecordBatch.from_arrays([batch.column(name).cast(schema.field(name).type) for name in names], names=names)


class _Plan(msgspec.Struct, frozen=True):
    """How a row group is read: rows at once, and leaves that are read as dictionaries."""

    rows: int
    dictionaries: tuple[str, ...] = ()


class _Leaf(msgspec.Struct, frozen=True):
    """A column of plain values in a row group, and its pages.

    Attributes:
        rows: Those of the row group.
        longest: Most bytes of a value that stands in its dictionary.
    """

    path: str
    repeated: bool
    text: bool
    rows: int
    values: int
    packed: int
    pages: list[Page]
    longest: int

    def find_most_bytes(self, rows: int) -> int:
        """Give the most bytes of some rows in a row; lists may be four times as long as they are on average."""
        if not self.repeated:
            return find_most_bytes(self.pages, rows, self.longest) if self.text else rows * _WIDEST_NUMBER
        share = min(1.0, 4 * rows / max(1, self.rows))
        if not self.text:
            return int(self.values * share) * _WIDEST_NUMBER
        plain = [page.unfolded for page in self.pages if not page.dictionary]
        return int(sum(plain) * share) + int(self.values * share) * self.longest

    def find_longest_list(self) -> int:
        """Give the most bytes that a list of one row can name in the dictionary: pages begin with a row, as a rule."""
        naming = max((page.values for page in self.pages if page.naming), default=0)
        return min(self.values, 2 * naming) * self.longest


def _plan(parquet: pq.ParquetFile, path: Path, group: int, columns: Sequence[str] | None, most_rows: int) -> _Plan:
    metadata = parquet.metadata.row_group(group)
    heads = None if columns is None else {name for column in columns for name in (column, column.partition(".")[0])}
    places = [
        index
        for index in range(metadata.num_columns)
        if heads is None or metadata.column(index).path_in_schema.partition(".")[0] in heads
    ]
    rows = most_rows
    if isinstance(path, HubPath):
        # A request for each page would take longer than the file itself; the footer must do.
        whole = sum(metadata.column(index).total_uncompressed_size for index in places)
        return _Plan(max(1, min(rows, BATCH_BYTES // 4 * metadata.num_rows // max(1, whole))))
    with open_source(path) as file:
        leaves = [_read_leaf(parquet, file, path, group, index) for index in places]
    if sum(leaf.find_most_bytes(rows) for leaf in leaves) > BATCH_BYTES:
        leaves = [_measure_longest(leaf, path, group, parquet.metadata) for leaf in leaves]
    while rows > 1 and sum(leaf.find_most_bytes(rows) for leaf in leaves) > BATCH_BYTES:
        rows = max(1, rows // 2)
    named = [leaf for leaf in leaves if leaf.repeated and leaf.text and leaf.find_longest_list() > BATCH_BYTES]
    for leaf in named:
        mixed = any(not (page.naming or page.dictionary) for page in leaf.pages)
        if mixed and leaf.find_longest_list() > max(UNFOLDED_BYTES, MOST_TIMES * leaf.packed):
            told = f"a list in {quote_value(leaf.path)} may unfold to {leaf.find_longest_list():,} bytes"
            raise Error(f"{path}: {told} and is not read. Write the file again from its source.")
    # What is not in the dictionary would be put there: only where all of it is.
    small = [
        leaf.path
        for leaf in named
        if all(page.naming or (page.dictionary and page.unfolded <= _SMALL_DICTIONARY) for page in leaf.pages)
    ]
    return _Plan(rows, tuple(small))


def _read_leaf(parquet: pq.ParquetFile, file: BufferedReader, path: Path, group: int, index: int) -> _Leaf:
    chunk = parquet.metadata.row_group(group).column(index)
    about = parquet.schema.column(index)
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        start = min(start, chunk.dictionary_page_offset)
    try:
        pages = list(list_pages(file, start, chunk.total_compressed_size, chunk.num_values))
    except BadPageError:
        told = f"the pages of {quote_value(chunk.path_in_schema)} cannot be distinguished"
        raise Error(f"{path}: is a damaged parquet file ({told}). Get the whole file again.") from None
    repeated, text = about.max_repetition_level > 0, about.physical_type.endswith("BYTE_ARRAY")
    for page in pages:
        unfolded = page.values * _WIDEST_NUMBER if repeated and not text else page.unfolded
        if unfolded > PAGE_BYTES and unfolded > 8 * page.packed:
            told = f"a page of {quote_value(chunk.path_in_schema)} unfolds from {page.packed:,} bytes to {unfolded:,}"
            raise Error(f"{path}: {told} and is not read. Write the file again from its source.")
    longest = max((page.unfolded for page in pages if page.dictionary), default=0)
    rows = parquet.metadata.row_group(group).num_rows
    return _Leaf(
        chunk.path_in_schema, repeated, text, rows, chunk.num_values, chunk.total_compressed_size, pages, longest
    )


def _measure_longest(leaf: _Leaf, path: Path, group: int, metadata: pq.FileMetaData) -> _Leaf:
    """Look up how long the texts of a dictionary are, where it is small; else one of them may be all of it."""
    if not leaf.text or not 0 < leaf.longest <= _SMALL_DICTIONARY:
        return leaf
    import pyarrow.compute as pc  # a tenth of the start of every command, and few files ask for it

    source = open_checked_parquet(path, [leaf.path], metadata)
    # The dictionary comes with the first value; before it may stand empty lists.
    for batch in source.iter_batches(batch_size=_DICTIONARY_ROWS, columns=[leaf.path], row_groups=[group]):
        for array in list_leaves(batch.column(0)):
            if pa.types.is_dictionary(array.type) and len(array.dictionary):
                return replace(leaf, longest=pc.max(pc.binary_length(array.dictionary)).as_py() or 0)
    return leaf


def list_leaves(array: pa.Array) -> Iterator[pa.Array]:
    """Give the arrays of plain values inside an array, cut to its rows."""
    if pa.types.is_struct(array.type):
        for column in array.flatten():
            yield from list_leaves(column)
    elif pa.types.is_map(array.type):
        yield from list_leaves(array.keys)
        yield from list_leaves(array.items)
    elif pa.types.is_nested(array.type) and not pa.types.is_union(array.type):
        yield pa.nulls(len(array))
        yield from list_leaves(_take_values(array) if _has_offsets(array) else array.flatten())
    else:
        yield array


def _has_offsets(array: pa.Array) -> bool:
    return bool(pa.types.is_list(array.type) or pa.types.is_large_list(array.type))


def _take_values(array: pa.Array) -> pa.Array:
    """Give the values of lists, as `flatten` does, which loads all functions of Arrow for it."""
    first, end = (array.offsets[0].as_py(), array.offsets[-1].as_py()) if len(array) else (0, 0)
    return array.values.slice(first, end - first)


def _measure_batch(batch: pa.RecordBatch) -> int:
    """Measure about what a batch takes as values of Python, dictionaries unfolded; a small one as Arrow holds it."""
    # pyarrow 21 cannot hash a schema that has metadata.
    kinds = _sort_columns(batch.schema.remove_metadata())
    if batch.nbytes < _SMALL_BATCH and not kinds.names_values:
        return int(batch.nbytes)
    flat: int = sum(batch.column(index).nbytes for index in kinds.flat)
    nested = sum(_measure(batch.column(index)) for index in kinds.nested)
    return flat + _OBJECT * int(batch.num_rows) * len(kinds.flat) + nested


class _Kinds(NamedTuple):
    """Places of the columns of plain values, and of those that are looked into; whether one has a dictionary."""

    flat: tuple[int, ...]
    nested: tuple[int, ...]
    names_values: bool


@lru_cache(maxsize=8)
def _sort_columns(schema: pa.Schema) -> _Kinds:
    def is_flat(kind: pa.DataType) -> bool:
        return not (pa.types.is_nested(kind) or pa.types.is_dictionary(kind))

    flat = tuple(index for index, kind in enumerate(schema.types) if is_flat(kind))
    nested = tuple(index for index, kind in enumerate(schema.types) if not is_flat(kind))
    return _Kinds(flat, nested, any("dictionary<" in str(schema.types[index]) for index in nested))


def _measure(array: pa.Array) -> int:
    """Measure about what an array takes as values of Python, dictionaries unfolded."""
    total = 0
    for leaf in list_leaves(array):
        kind = leaf.type
        total += _OBJECT * len(leaf)
        if pa.types.is_dictionary(kind):
            total += _measure_named(leaf)
        elif not pa.types.is_primitive(kind):
            total += leaf.nbytes
    return total


def _measure_named(array: pa.DictionaryArray) -> int:
    kind = array.dictionary.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind)):
        return int(array.dictionary.nbytes)
    import pyarrow.compute as pc

    lengths = pc.binary_length(array.dictionary)
    return int(pc.sum(lengths.take(array.indices)).as_py() or 0)


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
    number = span.row if span is not None else 0
    groups = None if span is None else range(span.start, span.end)
    with closing(_read_ahead(_read_sized_batches(path, columns, groups, BATCH_ROWS, UNFOLDED_BYTES))) as batches:
        while True:
            try:
                batch, size = next(batches, (None, 0))
            except MemoryError:
                raise
            except (pa.ArrowException, OSError) as error:
                message = f"{path}: is damaged near row {number} ({take_first_line(error)}). Get the whole file again."
                raise Error(message) from None
            if batch is None:
                return
            yield from _read_batch_rows(batch, size, path, number)
            number += batch.num_rows


def _read_ahead(batches: Iterator[_Sized]) -> Generator[_Sized]:
    """Have a thread read the next batches while the caller is at one, but not beside the first ones, which may do."""
    # The thread notes what it reads for whoever watches sources here.
    read = partial(copy_context().run, next, batches, None)
    under_way: deque[Future[_Sized | None]] = deque()
    thread = ThreadPoolExecutor(1)
    try:
        for given in itertools.count(1):
            batch = under_way.popleft().result() if under_way else read()
            if batch is None:
                return
            while given >= _AHEAD_FROM and batch[1] <= _AHEAD_BYTES and len(under_way) < _AHEAD:
                under_way.append(thread.submit(read))
            yield batch
            del batch
    finally:
        thread.shutdown(cancel_futures=True)


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


def _read_batch_rows(batch: pa.RecordBatch, size: int, path: Path, first: int) -> Iterator[Row | Rejected]:
    if batch.num_rows == 1 and size > MOST_ROW_BYTES:
        yield Rejected.of(build_too_large_error(size), Where(path.name, first))
        return
    if size > MOST_ROW_BYTES:
        yield from _read_single_rows(batch, path, first)
        return
    try:
        values = batch.to_pylist()
    except _NO_PYTHON_FORM:
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
    except _NO_PYTHON_FORM:
        pass
    else:
        return values
    texts = _cast_times(column)
    for index in range(len(column)):
        try:
            try:
                values.append(column[index].as_py())
            except _NO_PYTHON_FORM:
                values.append(texts[index].as_py())
        except UnicodeDecodeError:
            values.append(RowError("text.encoding", "", "a text is not UTF-8. Write the file again."))
        except _NO_PYTHON_FORM as error:
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


def _read_single_rows(batch: pa.RecordBatch, path: Path, first: int) -> Iterator[Row | Rejected]:
    """Read rows one by one, so that Python holds no second copy of all of them, or one fault hides no other row."""
    for index in range(batch.num_rows):
        row = batch.slice(index, 1)
        yield from _read_batch_rows(row, _measure_batch(row), path, first + index)
