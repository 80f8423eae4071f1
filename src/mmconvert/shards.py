"""Parquet files as this project writes them: options, digests, and bytes that are on the disk.

Pictures are stored uncompressed (they are), text with zstd; page checksums, page index and
content-defined chunking are on.
"""

import hashlib
import io
import mmap
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mmconvert.record import SCHEMA

SHARD_BYTES = 480 << 20
_WINDOW = 64 << 20
CHUNKING = {"min_chunk_size": 262_144, "max_chunk_size": 1_048_576, "norm_level": 0}


@dataclass(frozen=True, slots=True)
class Shard:
    """One parquet file of a dataset, as the manifest lists it."""

    file: str
    rows: int
    bytes: int
    sha256: str


def parquet_options(schema: pa.Schema) -> dict[str, Any]:
    """Give the options every parquet file of ours is written with.

    Args:
        schema: Columns of the file; leaves named `bytes` hold pictures and stay as they are.
    """
    sink = io.BytesIO()
    pq.ParquetWriter(sink, schema).close()
    layout = pq.ParquetFile(sink).schema
    leaves = [layout.column(i).path for i in range(len(layout.names))]
    text = [leaf for leaf in leaves if not leaf.endswith(".bytes")]
    return {
        "compression": {leaf: "ZSTD" if leaf in text else "NONE" for leaf in leaves},
        "use_dictionary": text,
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
        self._options = parquet_options(schema)
        self._writer: pq.ParquetWriter | None = None
        self._rows = self._bytes = 0
        self.shards: list[Shard] = []

    def _path(self) -> Path:
        return self._folder / f"{self._split}-{len(self.shards):05d}.parquet"

    def write(self, batch: pa.RecordBatch) -> None:
        """Append one row group; begin a new file where the current one is full."""
        if self._bytes >= SHARD_BYTES:
            self._finish_shard()
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path(), self._schema, **self._options)
        self._writer.write_batch(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes

    def _finish_shard(self) -> None:
        if self._writer is None:
            return
        self._writer.close()
        path = self._path()
        with path.open("rb") as file:
            os.fsync(file.fileno())
        self.shards.append(Shard(path.name, self._rows, path.stat().st_size, hash_file(path)))
        self._writer, self._rows, self._bytes = None, 0, 0

    def close(self) -> list[Shard]:
        """Finish the last file and give every file the total in its name."""
        self._finish_shard()
        total = len(self.shards)
        named = []
        for index, shard in enumerate(self.shards):
            name = f"{self._split}-{index:05d}-of-{total:05d}.parquet"
            (self._folder / shard.file).rename(self._folder / name)
            named.append(Shard(name, shard.rows, shard.bytes, shard.sha256))
        self.shards = named
        return named


def write_synced(path: Path, data: bytes) -> None:
    """Write a file and force it to the disk."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Force a folder's entries to the disk, so that a rename survives a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def hash_file(path: Path) -> str:
    """Give the sha256 of a file as hex."""
    digest = hashlib.sha256()
    size = path.stat().st_size
    with path.open("rb") as file:
        # Mapped windows: few calls that each free the interpreter's lock for long, and flat memory.
        for start in range(0, size, _WINDOW):
            with mmap.mmap(file.fileno(), min(_WINDOW, size - start), access=mmap.ACCESS_READ, offset=start) as view:
                digest.update(view)
    return digest.hexdigest()
