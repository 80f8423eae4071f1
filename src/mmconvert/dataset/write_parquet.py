"""Write rows with images as one parquet file that `load_dataset` opens, in little memory."""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mmconvert.core.arrow import build_column
from mmconvert.core.record import Image
from mmconvert.dataset.shards import list_parquet_options
from mmconvert.storage.parquet_sink import BlockFile

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
    with BlockFile(path) as file:
        options = list_parquet_options(schema)
        with pq.ParquetWriter(file.stream, schema, **options) as writer, ThreadPoolExecutor(1) as thread:
            written: Future[None] | None = None
            for group in _group(rows):
                # Arrow writes without Python's lock, while whoever gives the rows reads on.
                if written is not None:
                    written.result()
                written = thread.submit(_write_group, writer, file, group, schema)
            if written is not None:
                written.result()
        file.finish()


def _group(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    group: list[Mapping[str, Any]] = []
    size = 0
    for row in rows:
        group.append(row)
        size += sum(len(cell["bytes"]) for cell in row.get("images", ()))
        if size >= _ROW_GROUP_BYTES or len(group) >= _ROW_GROUP_ROWS:
            yield group
            group, size = [], 0
    if group:
        yield group


def _write_group(writer: pq.ParquetWriter, file: BlockFile, group: list[Mapping[str, Any]], schema: pa.Schema) -> None:
    columns = [build_column([row.get(field.name) for row in group], field.type) for field in schema]
    writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
    file.check()
