"""What stands in the footer of a parquet file, looked at before pyarrow does.

pyarrow ends the whole process (`terminate called`) where it is asked about a column chunk of a damaged footer. It
raises the same error as any other when it reads the chunk, but what a page unfolds to must be known before. The
footer is read here as it stands in the file: pyarrow reads an address that is none when it is to write one that says
how the file is encrypted.

Source: apache/parquet-format, FileMetaData in src/main/thrift/parquet.thrift; apache/arrow 26
cpp/src/parquet/metadata.cc:ColumnChunkMetaDataImpl and FileMetaDataImpl::WriteTo,
size_statistics.cc:SizeStatistics::Validate.
"""

import os
from collections.abc import Iterator
from functools import lru_cache
from io import BufferedReader
from typing import Any

import pyarrow.parquet as pq

from mmconvert.io.thrift import BINARY, INTEGER, BadThriftError, CompactReader, Shape

MAGIC = b"PAR1"
"""How a file begins and ends."""

_TAIL = 64 << 10
"""Bytes at the end of a file that are read at once; most footers are shorter."""
_KEPT_BYTES = 1 << 20
"""A longer footer is not kept for the next time that the file is opened."""
_END = 8
"""Bytes behind the footer: its length and `MAGIC`."""

_ROW_GROUPS, _ENCRYPTION, _COLUMNS, _METADATA, _CRYPTO, _SIZES = 4, 8, 1, 3, 8, 16
"""Fields of the footer (twice), of a row group, of a column chunk (twice), and of its metadata."""
_BYTES, _REPETITIONS, _DEFINITIONS = 1, 2, 3
"""Fields of the statistics of sizes."""
_DEPTH = 8
_DAMAGED = "is a damaged parquet file ({}). Get the whole file again."

_STRUCT: Shape = {}
_SIZES_SHAPE: Shape = {_REPETITIONS: [INTEGER], _DEFINITIONS: [INTEGER]}
_METADATA_SHAPE: Shape = {
    2: [INTEGER],
    3: [BINARY],
    8: [_STRUCT],
    13: [_STRUCT],
    _SIZES: _SIZES_SHAPE,
    17: {1: _STRUCT, 2: [INTEGER]},
}
_CRYPTO_SHAPE: Shape = {1: _STRUCT, 2: {1: [BINARY]}}
_GROUP_SHAPE: Shape = {_COLUMNS: [{_METADATA: _METADATA_SHAPE, _CRYPTO: _CRYPTO_SHAPE}], 4: [_STRUCT]}
_SHAPE: Shape = {2: [_STRUCT], _ROW_GROUPS: [_GROUP_SHAPE], 5: [_STRUCT], 7: [_STRUCT], _ENCRYPTION: _STRUCT}
"""All lists of a footer, whose items pyarrow reads as what they must be, whatever kind the list says they are."""


def read_footer(file: BufferedReader) -> bytes | None:
    """Read the footer of a file, one that is not longer than usual in one piece.

    Args:
        file: The open file, which may be unbuffered.

    Returns:
        None where the file does not end as a parquet file does.
    """
    size = file.seek(0, os.SEEK_END)
    tail = _read_from(file, max(0, size - _TAIL), size)
    length = int.from_bytes(tail[-_END : -len(MAGIC)], "little")
    if not tail.endswith(MAGIC) or length + _END + len(MAGIC) > size:
        return None
    if length + _END > len(tail):
        tail = _read_from(file, size - _END - length, size)
    return tail[-_END - length : -_END]


def sum_text_bytes(footer: bytes, leaf: int) -> int | None:
    """Add up how long the texts or bytes of a column are, without reading one.

    Args:
        footer: What `read_footer` gives, in which `find_bad_footer` finds nothing.
        leaf: Number of the column of plain values.

    Returns:
        Bytes of all its values; None where the writer of the file did not say it.
    """
    fields = CompactReader(footer).read_struct(_DEPTH, _SHAPE)
    chunks = (group[_COLUMNS][leaf] for group in fields.get(_ROW_GROUPS) or ())
    total = 0
    for chunk in chunks:
        size: int | None = ((chunk.get(_METADATA) or {}).get(_SIZES) or {}).get(_BYTES)
        if size is None:
            return None
        total += size
    return total


def build_footer_file(footer: bytes) -> bytes:
    """Build a file of a footer alone, from which pyarrow reads it as from the whole file."""
    return MAGIC + footer + len(footer).to_bytes(4, "little") + MAGIC


def find_bad_footer(footer: bytes, schema: pq.ParquetSchema) -> str | None:
    """Find what is in a footer that pyarrow must not be asked about.

    Args:
        footer: What `read_footer` gives.
        schema: The columns that pyarrow finds in it.

    Returns:
        What is wrong with the file, and what to do about it; None where nothing is.
    """
    leaves = [schema.column(index) for index in range(len(schema))]
    expected = tuple(
        (leaf.max_repetition_level + 1, leaf.max_definition_level + 1, leaf.physical_type == "BYTE_ARRAY")
        for leaf in leaves
    )
    find = _find_again if len(footer) <= _KEPT_BYTES else _find_bad
    return find(footer, expected)


_Levels = tuple[int, int, bool]
"""How many repetition and definition levels a column has, and whether it holds texts."""


def _find_bad(footer: bytes, expected: tuple[_Levels, ...]) -> str | None:
    try:
        fields = CompactReader(footer).read_struct(_DEPTH, _SHAPE)
    except BadThriftError:
        return _DAMAGED.format("its footer cannot be read")
    if _is_encrypted(fields):
        return "is encrypted and is not read. Write it again without encryption."
    fault = next(_find_faults(fields, expected), None)
    return None if fault is None else _DAMAGED.format(fault)


# A file is opened many times, once for each of its row groups.
_find_again = lru_cache(maxsize=16)(_find_bad)


def _read_from(file: BufferedReader, start: int, end: int) -> bytes:
    file.seek(start)
    return file.read(end - start) or b""


def _is_encrypted(footer: dict[int, Any]) -> bool:
    chunks = (chunk for group in footer.get(_ROW_GROUPS) or () for chunk in group.get(_COLUMNS) or ())
    return _ENCRYPTION in footer or any(_CRYPTO in chunk for chunk in chunks)


def _find_faults(footer: dict[int, Any], expected: tuple[_Levels, ...]) -> Iterator[str]:
    for group in footer.get(_ROW_GROUPS) or ():
        chunks = group.get(_COLUMNS) or ()
        if len(chunks) != len(expected):
            yield "a row group has other columns than the file"
            return
        for chunk, (repetitions, definitions, text) in zip(chunks, expected, strict=True):
            sizes = (chunk.get(_METADATA) or {}).get(_SIZES) or {}
            counts = (sizes.get(_REPETITIONS) or (), repetitions), (sizes.get(_DEFINITIONS) or (), definitions)
            if any(len(found) not in (0, levels) for found, levels in counts) or (_BYTES in sizes and not text):
                yield "its statistics of sizes do not fit its columns"
