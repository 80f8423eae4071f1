"""Parquet files as this project writes them: options, digests, and bytes that are on the disk.

Images are stored uncompressed (they are), text with zstd; page checksums, page index and
content-defined chunking are on.
"""

import io
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace

from mmconvert.core.plain_chats import PlainChat, build_batch
from mmconvert.core.record import SCHEMA, Record, estimate_memory
from mmconvert.dataset.value_counts import ValueCounts, add_value_counts
from mmconvert.storage.parquet_sink import HashedFile

SHARD_BYTES = 480 << 20
ROW_GROUP_BYTES = 20 << 20
"""Bytes of a row group, by those of its Arrow columns; rows do not bound it, so that text compresses well."""
BATCH_RECORDS = 5_000
"""Most records that wait to become Arrow columns, in which they take a tenth of the memory."""
CHUNKING = {"min_chunk_size": 896 << 10, "max_chunk_size": 1 << 20, "norm_level": 0}
"""Pages end where the content says, so that the Hub stores once what two versions share. Content is looked at
from the least size on only, which takes time. pyarrow's own least size, 256 KiB, serves compressed text better; of
images, stored as they are, the Hub finds the more again the fewer page headers stand between them."""

_DISTINCT = {"id", "sample", "question", "text", "name", "sha256", "row"}
"""Leaves whose values differ from row to row: a dictionary of them would be a second copy, and a larger one."""


class Shard(msgspec.Struct, frozen=True):
    """One parquet file of a dataset, as the manifest lists it.

    Attributes:
        file: Its path below the dataset's folder.
        rows: How many.
        bytes: Its size.
        sha256: Of the whole file, as hex.
        counts: What the card counts of its rows; None where it was not written in this run.
    """

    file: str
    rows: int
    bytes: int
    sha256: str
    counts: ValueCounts | None = None


def list_parquet_options(schema: pa.Schema) -> dict[str, Any]:
    """Give the options every parquet file created by mmconvert is written with.

    Args:
        schema: Columns of the file; leaves named `bytes` hold images and stay as they are.
    """
    # The options follow from the columns alone, and pyarrow 21 cannot hash a schema that has metadata.
    return _list_column_options(schema.remove_metadata())


@lru_cache(maxsize=8)
def _list_column_options(schema: pa.Schema) -> dict[str, Any]:
    sink = io.BytesIO()
    pq.ParquetWriter(sink, schema).close()
    layout = pq.ParquetFile(sink).schema
    leaves = [layout.column(i).path for i in range(len(layout.names))]
    text = [leaf for leaf in leaves if not leaf.endswith(".bytes")]
    return {
        "compression": {leaf: "ZSTD" if leaf in text else "NONE" for leaf in leaves},
        "use_dictionary": [leaf for leaf in text if leaf.rpartition(".")[2] not in _DISTINCT],
        "write_statistics": text,
        "write_page_index": True,
        "write_page_checksum": True,
        "use_content_defined_chunking": CHUNKING,
    }


class ShardWriter:
    """Writes record batches of one split into numbered parquet files."""

    def __init__(self, folder: Path, split: str, schema: pa.Schema = SCHEMA) -> None:
        """Prepare; the first file is opened by the first batch.

        Args:
            folder: Existing folder for the files.
            split: Split name, the beginning of every file name.
            schema: Columns of every batch.
        """
        self._folder = folder
        self._split = split
        self._schema = schema
        self._options = list_parquet_options(schema)
        self._file: HashedFile
        self._writer: pq.ParquetWriter | None = None
        self._rows = self._bytes = 0
        self._counts: ValueCounts = {}
        self.shards: list[Shard] = []

    def _build_path(self) -> Path:
        return self._folder / f"{self._split}-{len(self.shards):05d}.parquet"

    def write(self, *batches: pa.RecordBatch) -> None:
        """Append batches as one row group; begin a new file where the current one is full."""
        if self._bytes >= SHARD_BYTES:
            self._finish_shard()
        if self._writer is None:
            self._file = HashedFile(self._build_path())
            self._writer = pq.ParquetWriter(self._file.stream, self._schema, **self._options)
        table = pa.Table.from_batches(batches)
        self._writer.write_table(table, row_group_size=table.num_rows)
        self._file.sync_later()
        for batch in batches:
            add_value_counts(self._counts, batch)
        self._rows += table.num_rows
        self._bytes += table.nbytes

    def _finish_shard(self) -> None:
        if self._writer is None:
            return
        self._writer.close()
        self._file.finish()
        path = self._build_path()
        self.shards.append(Shard(path.name, self._rows, path.stat().st_size, self._file.digest, self._counts))
        self._writer, self._rows, self._bytes, self._counts = None, 0, 0, {}

    def close(self) -> list[Shard]:
        """Finish the last file and give all of them, in order, under their temporary names."""
        self._finish_shard()
        return self.shards


class RecordWriter:
    """Writes records of one split into shards; complete row groups go to disk at once."""

    def __init__(
        self,
        folder: Path,
        name: str,
        schema: pa.Schema = SCHEMA,
        to_batch: Callable[[Sequence[Any]], pa.RecordBatch] = build_batch,
    ) -> None:
        """Prepare.

        Args:
            folder: Existing folder for the shards.
            name: Beginning of the shards' temporary names, unique in the folder.
            schema: Columns of every shard.
            to_batch: Makes one batch of that schema of records; of plain conversations too, where any are written.
        """
        self._writer = ShardWriter(folder, name, schema)
        self._to_batch = to_batch
        self._pending: list[Record | PlainChat] = []
        self._bytes = 0
        self._group: list[pa.RecordBatch] = []
        self._group_bytes = 0

    def write(self, records: Sequence[Record | PlainChat], size: int | None = None) -> None:
        """Append records.

        Args:
            records: A few of them; a row group ends behind the last one at the soonest.
            size: Their `estimate_memory` together, None to have it counted.
        """
        self._pending += records
        if size is None:
            size = sum(one.memory if isinstance(one, PlainChat) else estimate_memory(one) for one in records)
        self._bytes += size
        if self._bytes >= ROW_GROUP_BYTES or len(self._pending) >= BATCH_RECORDS:
            self._end_batch()
            if self._group_bytes >= ROW_GROUP_BYTES:
                self._end_group()

    def _end_batch(self) -> None:
        if self._pending:
            batch = self._to_batch(self._pending)
            self._pending, self._bytes = [], 0
            self._group.append(batch)
            self._group_bytes += batch.nbytes

    def _end_group(self) -> None:
        if self._group:
            self._writer.write(*self._group)
            self._group, self._group_bytes = [], 0

    def close(self) -> list[Shard]:
        """Finish the last shard and give all of them."""
        self._end_batch()
        self._end_group()
        return self._writer.close()


def number_shards(folder: Path, split: str, shards: Sequence[Shard]) -> list[Shard]:
    """Rename the shards of a split to `<split>-00000-of-0000N.parquet`, in the order given.

    Args:
        folder: The dataset's folder; shards are named relative to it.
        split: Split name.
        shards: Every shard of the split.
    """
    named = []
    for index, shard in enumerate(shards):
        file = (folder / shard.file).with_name(f"{split}-{index:05d}-of-{len(shards):05d}.parquet")
        (folder / shard.file).rename(file)
        named.append(replace(shard, file=file.relative_to(folder).as_posix()))
    return named
