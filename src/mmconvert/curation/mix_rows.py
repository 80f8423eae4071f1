"""The rows of a mixture: their ids, and the rows themselves in the order of a hash, part by part in any process.

A part is some row groups of a source. Each part sorts the rows that are taken of it into buckets, by the first bits of
their order, in a file beside the output. A shard is a few buckets, each gathered from the files of all parts and sorted
by itself. So memory does not grow with the mixture, and which process does a part or a shard changes no byte.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mmconvert.core.arrow import build_column, build_scalar, from_numpy, to_numpy
from mmconvert.core.errors import Error
from mmconvert.curation.mix_sources import MixSource
from mmconvert.curation.row_parts import RowsPart, list_parts
from mmconvert.dataset.dataset import read_shard_batches
from mmconvert.dataset.shards import ROW_GROUP_BYTES, Shard, ShardWriter
from mmconvert.pipeline.sampling import hash_text

PART_BYTES = 64 << 20
"""Bytes of a part, and of the rows that it sorts at a time."""
BUCKET_BYTES = 64 << 20
MOST_BUCKETS = 512
"""Buckets of a mixture; one that is larger than so many has larger ones."""
_SHARD_BUCKETS = 8
_MOST_BUCKET_BYTES = 1 << 30
_ORDER = "order"
"""Column of the files of buckets with the place of a row in the mixture."""

Hashes = npt.NDArray[np.uint64]


def list_source_parts(source: MixSource) -> Iterator[RowsPart]:
    """Cut the split of a source into parts, by its files alone."""
    return list_parts(source.dataset.files[source.split], PART_BYTES)


def scramble(values: Hashes) -> Hashes:
    """Turn numbers into others that look like chance, each into another one (the end of SplitMix64)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def hash_ids(part: RowsPart) -> tuple[Hashes, Hashes]:
    """Hash the id of each row of a part, and once each id, sample and group of all its rows."""
    hashes: list[int] = []
    others: set[int] = set()
    for batch in read_shard_batches(part.file, ["id", "sample", "group"], groups=range(*part.groups)):
        names = {name: batch.column(name).to_pylist() for name in batch.schema.names}
        hashes += map(hash_text, names["id"])
        for id, *kin in zip(*names.values(), strict=True):
            others.update(hash_text(one) for one in kin if one is not None and one != id)
    found = np.array(hashes, np.uint64)
    return found, np.unique(np.concatenate([found, np.fromiter(others, np.uint64, len(others))]))


class TakenPart(msgspec.Struct, frozen=True):
    """What is taken of a part.

    Attributes:
        part: The part.
        hashes: The number that orders each of its rows.
        copies: How often each is taken.
        prefix: What stands in front of their ids.
    """

    part: RowsPart
    hashes: Hashes
    copies: npt.NDArray[np.int64]
    prefix: str

    @property
    def bytes(self) -> int:
        """Bytes of what is taken, if all rows are alike."""
        return self.part.bytes * int(self.copies.sum()) // max(1, len(self.copies))


class SortTask(msgspec.Struct, frozen=True):
    """A part whose rows are sorted into buckets.

    Attributes:
        taken: The part.
        schema: Columns of the mixture.
        bits: First bits of a row's order that are the number of its bucket.
        target: File of the buckets.
    """

    taken: TakenPart
    schema: pa.Schema
    bits: int
    target: Path


class ShardTask(msgspec.Struct, frozen=True):
    """Buckets that become a shard, or several where they are large.

    Attributes:
        files: The files of all parts, in order.
        buckets: Numbers of the buckets.
        total: How many buckets there are.
        schema: Columns of the mixture.
        folder: Where the shard is made.
        name: Beginning of its temporary name.
    """

    files: tuple[Path, ...]
    buckets: range
    total: int
    schema: pa.Schema
    folder: Path
    name: str


def plan_shards(
    taken: Sequence[TakenPart], buckets: Path, folder: Path, split: str, schema: pa.Schema
) -> tuple[list[SortTask], list[ShardTask]]:
    """Plan the two steps of writing: all parts first, then the shards.

    Args:
        taken: What is taken, part by part.
        buckets: Existing folder for the files of buckets.
        folder: Existing folder for the shards.
        split: Name of the split.
        schema: Columns of the mixture.

    Raises:
        Error: The mixture is larger than can be sorted.
    """
    size = sum(one.bytes for one in taken)
    bits = min(MOST_BUCKETS, max(1, -(-size // BUCKET_BYTES)) * 2 - 1).bit_length() - 1
    if size >> bits > _MOST_BUCKET_BYTES:
        raise Error(f"the mixture has {size / 1e9:,.0f} GB, more than are sorted at once. Mix parts of it (--samples).")
    sorts = [
        SortTask(one, schema, bits, buckets / f"{number:05d}.arrow")
        for number, one in enumerate(taken)
        if one.copies.any()
    ]
    files, total = tuple(task.target for task in sorts), 1 << bits
    shards = [
        ShardTask(files, range(total)[first : first + _SHARD_BUCKETS], total, schema, folder, f"{split}-{first:05d}")
        for first in range(0, total, _SHARD_BUCKETS)
    ]
    return sorts, shards


def sort_part(task: SortTask) -> int:
    """Write the rows that are taken of a part, sorted into buckets; give how many there are.

    The file holds batch after batch all buckets, empty ones too, and all of them again for the next rows.

    Raises:
        Error: The part is damaged, or its columns are not those of the mixture.
    """
    schema = task.schema.append(pa.field(_ORDER, pa.uint64()))
    held: list[pa.RecordBatch] = []
    rows = size = 0
    with pa.ipc.new_file(str(task.target), schema) as writer:
        for batch in _read_rows(task.taken, task.schema):
            held.append(batch)
            rows += batch.num_rows
            size += batch.nbytes
            if size >= PART_BYTES:
                _write_buckets(held, task.bits, writer)
                held, size = [], 0
        if held:
            _write_buckets(held, task.bits, writer)
    return rows


def _write_buckets(held: Sequence[pa.RecordBatch], bits: int, writer: Any) -> None:
    table = pa.Table.from_batches(held)
    numbers = to_numpy(table[_ORDER]) >> np.uint64(64 - bits)  # a shift by all 64 bits gives 0
    order = np.argsort(numbers, kind="stable")
    ends = np.searchsorted(numbers[order], np.arange((1 << bits) + 1, dtype=np.uint64))
    rows = table.take(from_numpy(order)).combine_chunks().to_batches()[0]
    for start, end in pairwise(ends.tolist()):
        writer.write_batch(rows.slice(start, end - start))


def _read_rows(taken: TakenPart, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Read the rows that are taken of a part, as often as they are, with their order."""
    start = 0
    for batch in read_shard_batches(taken.part.file, schema.names, groups=range(*taken.part.groups)):
        copies = taken.copies[start : start + len(batch)]
        hashes = taken.hashes[start : start + len(batch)]
        start += len(batch)
        if not copies.any():
            continue
        places = np.repeat(np.arange(len(batch)), copies)
        ends = np.cumsum(copies)
        numbers = np.arange(len(places)) - np.repeat(ends - copies, copies)
        # Rows that are taken often are no more at a time than others.
        for first in range(0, len(places), len(batch)):
            some = slice(first, first + len(batch))
            yield _build_rows(batch, places[some], numbers[some], hashes, taken, schema)


def _build_rows(
    batch: pa.RecordBatch, places: Any, numbers: Any, hashes: Hashes, taken: TakenPart, schema: pa.Schema
) -> pa.RecordBatch:
    # A second hash: by the first one, all of a source of which little is taken would stand in front.
    order = scramble(scramble(hashes[places]) + numbers.astype(np.uint64))
    rows = _rename(batch.take(from_numpy(places)), taken.prefix, numbers)
    try:
        rows = pa.RecordBatch.from_arrays([rows.column(name) for name in schema.names], schema=schema)
    except (KeyError, pa.ArrowException, TypeError, ValueError):
        file = taken.part.file
        raise Error(f"{file}: has not the columns of this version. Convert it again: mmconvert convert.") from None
    return rows.append_column(_ORDER, from_numpy(order))


def _rename(rows: pa.RecordBatch, prefix: str, numbers: npt.NDArray[np.int64]) -> pa.RecordBatch:
    """Put the source's name in front of ids, and the number of a repetition behind them."""
    ends = build_column([f"#repeat{number}" if number else "" for number in numbers.tolist()], pa.string())
    for name in ("id", "sample", "group") if prefix or numbers.any() else ():
        texts = [build_scalar(prefix), rows.column(name), *([ends] if name == "id" else [])]
        place = rows.schema.get_field_index(name)
        rows = rows.set_column(place, name, pc.binary_join_element_wise(*texts, build_scalar("")))
    return rows


def write_shard(task: ShardTask) -> list[Shard]:
    """Gather buckets from the files of all parts, sort and write them; give the shards."""
    writer = ShardWriter(task.folder, task.name, task.schema)
    for bucket in task.buckets:
        table = _read_bucket(task, bucket)
        order = pc.sort_indices(table[_ORDER])
        table = table.drop_columns([_ORDER])
        step = max(1, len(table) * ROW_GROUP_BYTES // max(1, table.nbytes))
        for start in range(0, len(table), step):
            writer.write(*table.take(order.slice(start, step)).combine_chunks().to_batches())
    return writer.close()


def _read_bucket(task: ShardTask, bucket: int) -> pa.Table:
    batches = []
    for file in task.files:
        reader = pa.ipc.open_file(pa.memory_map(str(file)))
        batches += [reader.get_batch(n) for n in range(bucket, reader.num_record_batches, task.total)]
    return pa.Table.from_batches(batches).combine_chunks()
