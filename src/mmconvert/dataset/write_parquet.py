"""Write rows with images as one parquet file that `load_dataset` opens, in little memory."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mmconvert.core.record import Image
from mmconvert.dataset.shards import list_parquet_options
from mmconvert.storage.parquet_sink import OutputFile

_ROW_GROUP_BYTES = 24 << 20
_ROW_GROUP_ROWS = 1_000


def build_image_cell(image: Image) -> dict[str, Any]:
    """Give an image as the value of an `Image` column, its bytes untouched."""
    return {"bytes": image.bytes, "path": None}


def write_parquet(rows: Iterable[Mapping[str, Any]], schema: pa.Schema, path: Path) -> None:
    """Write rows in row groups bounded by bytes, as the Hub wants them.

    Args:
        rows: Values by column; `images`, where there is such a column, holds cells as `build_image_cell` gives them.
        schema: Columns; `with_features` makes `datasets` see images.
        path: The file.
    """
    with OutputFile(path) as file, pq.ParquetWriter(file, schema, **list_parquet_options(schema)) as writer:
        pending: list[Mapping[str, Any]] = []
        size = 0
        for row in rows:
            pending.append(row)
            size += sum(len(cell["bytes"]) for cell in row.get("images", ()))
            if size >= _ROW_GROUP_BYTES or len(pending) >= _ROW_GROUP_ROWS:
                writer.write_batch(pa.RecordBatch.from_pylist(pending, schema=schema))
                file.check()
                pending, size = [], 0
        if pending:
            writer.write_batch(pa.RecordBatch.from_pylist(pending, schema=schema))
