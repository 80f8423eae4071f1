"""What stands in the footer of a parquet file, looked at before pyarrow does.

pyarrow ends the whole process (`terminate called`) where it is asked about a column chunk of a damaged footer. It
raises the same error as any other when it reads the chunk, but what a page unfolds to must be known before.

Source: apache/parquet-format, FileMetaData in src/main/thrift/parquet.thrift; apache/arrow 26
cpp/src/parquet/metadata.cc:ColumnChunkMetaDataImpl, size_statistics.cc:SizeStatistics::Validate.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mmconvert.io.thrift import BadThriftError, CompactReader

_ROW_GROUPS, _COLUMNS, _METADATA, _CRYPTO, _SIZES = 4, 1, 3, 8, 16
"""Fields of the footer, of a row group, of a column chunk (twice), and of its metadata."""
_BYTES, _REPETITIONS, _DEFINITIONS = 1, 2, 3
"""Fields of the statistics of sizes."""
_DEPTH = 8


def find_bad_chunk(parquet: pq.ParquetFile) -> str | None:
    """Find a column chunk that pyarrow must not be asked about.

    Args:
        parquet: The open file.

    Returns:
        What is wrong with the first such chunk, None where none is.
    """
    footer = pa.BufferOutputStream()
    parquet.metadata.write_metadata_file(footer)
    # A file of a footer alone: PAR1, the footer, its length in four bytes, PAR1.
    data = footer.getvalue().to_pybytes()[4:-8]
    try:
        return next(_find_faults(CompactReader(data).read_struct(_DEPTH), parquet.schema), None)
    except (BadThriftError, RecursionError):
        return "its footer cannot be read"


def _find_faults(footer: dict[int, Any], schema: pq.ParquetSchema) -> Iterator[str]:
    leaves = [schema.column(index) for index in range(len(schema))]
    expected = [
        (leaf.max_repetition_level + 1, leaf.max_definition_level + 1, leaf.physical_type == "BYTE_ARRAY")
        for leaf in leaves
    ]
    for group in footer.get(_ROW_GROUPS) or ():
        chunks = group.get(_COLUMNS) or ()
        if len(chunks) != len(expected):
            yield "a row group has other columns than the file"
            return
        for chunk, (repetitions, definitions, text) in zip(chunks, expected, strict=True):
            if _CRYPTO in chunk:
                yield "a column is encrypted"
            sizes = (chunk.get(_METADATA) or {}).get(_SIZES) or {}
            counts = (sizes.get(_REPETITIONS) or (), repetitions), (sizes.get(_DEFINITIONS) or (), definitions)
            if any(len(found) not in (0, levels) for found, levels in counts) or (_BYTES in sizes and not text):
                yield "its statistics of sizes do not fit its columns"
