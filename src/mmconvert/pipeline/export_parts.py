"""A dataset written back in parts, several processes at once, and joined: for formats with `Format.splittable`.

Where a dataset is cut depends on its shards alone, and what is joined is what one process writes.
"""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec
from msgspec.structs import replace

from mmconvert.core.collect import collect_rarely
from mmconvert.core.record import NUMBER_DIGITS, Record
from mmconvert.core.rows import Rejected, Span
from mmconvert.dataset.dataset import Dataset
from mmconvert.io.parquet import cut, open_checked_parquet
from mmconvert.pipeline.engines import Run
from mmconvert.pipeline.inputs import Input
from mmconvert.pipeline.read import OURS, ReadOptions, Records
from mmconvert.plugins.format import Format, Loss, Target
from mmconvert.plugins.registry import load
from mmconvert.storage.source_files import Sources, Stamps, get_sources, watch_apart

LEAST_BYTES = 64 << 20
"""Shards of fewer bytes are written back by one process: starting another takes as long."""
_PART_BYTES = 32 << 20
_SUFFIXES = (".json", ".jsonl")
_PAIR = "preference."
"""Beginning of the columns of a preference pair."""


class Written(msgspec.Struct):
    """What was written of a dataset, or of a part of it.

    Attributes:
        losses: What the format could not hold, row by row.
        rejects: Rows that could not be read.
        rows_read: Rows that were read.
        numbered: A row has an id that may be its number, which is written or not.
        stamps: How the files were that were read.
    """

    losses: list[Loss]
    rejects: list[Rejected]
    rows_read: int
    numbered: bool = False
    stamps: Stamps = {}


class _Part(msgspec.Struct, frozen=True):
    """Row groups of a shard, and where they are written."""

    shard: Path
    span: Span
    rows: int
    target: Target
    to: str
    stamps: Stamps


def can_split(dataset: Dataset, target: Target, plugin: Format) -> bool:
    """Tell whether a dataset is written back in parts: it is large, without preference pairs, and the format fits."""
    shards = [file for files in dataset.files.values() for file in files]
    if not plugin.splittable or target.folder or target.path.suffix.lower() not in _SUFFIXES:
        return False
    # A path of a store is one of another class.
    if not all(type(shard) is type(Path()) for shard in shards):
        return False
    return sum(shard.stat().st_size for shard in shards) >= LEAST_BYTES and not any(map(_may_hold_pairs, shards))


def _may_hold_pairs(shard: Path) -> bool:
    metadata = open_checked_parquet(shard).metadata
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            if column.path_in_schema.startswith(_PAIR):
                told = column.statistics
                if told is None or not told.has_null_count or told.null_count != column.num_values:
                    return True
    return False


def write_parts(dataset: Dataset, target: Target, to: str, run: Run) -> Iterator[Written]:
    """Write a dataset back in parts and join them.

    Args:
        dataset: What to write back.
        target: The file; parts lie beside it for a while.
        to: Name of the format.
        run: Runs a function on every part, several at once.

    Yields:
        What each part gave, in order; the file is whole when there are no more.

    Raises:
        Error: As the format's `write`, or a shard is damaged.
    """
    sources = get_sources()
    parts = list(_cut(dataset, target, to, sources))
    try:
        done = list(run(_write_part, parts))
        # Each was numbered as if no row before it were left out.
        first = parts[0].target.first_row
        for index, (part, written) in enumerate(zip(parts, done, strict=True)):
            if written.numbered and first != part.target.first_row:
                done[index] = _write_part(replace(part, target=replace(part.target, first_row=first)))
            first += part.rows - len(written.rejects) - sum(loss.left_out for loss in written.losses)
        with target.path.open("wb") as file:
            join = _join_arrays if target.path.suffix.lower() == ".json" else _join_lines
            join([part.target.path for part in parts], file)
    finally:
        for part in parts:
            part.target.path.unlink(missing_ok=True)
    for written in done:
        if sources is not None:
            sources.join(written.stamps)
        yield written


def _cut(dataset: Dataset, target: Target, to: str, sources: Sources | None) -> Iterator[_Part]:
    first = number = 0
    for shard in (file for files in dataset.files.values() for file in files):
        stamps = {} if sources is None else sources.select([str(shard)])
        total = open_checked_parquet(shard).metadata.num_rows
        spans = list(cut(shard, [_PART_BYTES] * (1 + shard.stat().st_size // _PART_BYTES)))
        for span, end in zip(spans, [*(span.row for span in spans[1:]), total], strict=True):
            stem, suffix = target.path.name.removesuffix(target.path.suffix), target.path.suffix
            path = target.path.with_name(f"{stem.removesuffix('.new')}.part-{number}.new{suffix}")
            piece = replace(target, path=path, first_row=first)
            yield _Part(shard, span, end - span.row, piece, to, stamps)
            first += end - span.row
            number += 1


def _write_part(part: _Part) -> Written:
    plugin: Format = load("mmconvert.formats", part.to)
    records = Records(Input(part.shard), ReadOptions(format=OURS), part.span)
    watched = _Watched(records)
    with watch_apart(Sources()) as sources, collect_rarely():
        sources.join(part.stamps)
        losses = list(cast(Any, plugin.write)(watched, part.target))
    return Written(losses, records.rejects, records.rows_read, watched.numbered, sources.stamps)


class _Watched:
    """Records, and whether one of them has an id that may be the number of its row."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self.numbered = False

    def __iter__(self) -> Iterator[Record]:
        for record in self._records:
            self.numbered = self.numbered or (len(record.id) == NUMBER_DIGITS and record.id.isdigit())
            yield record


def _join_lines(parts: Sequence[Path], file: BinaryIO) -> None:
    for part in parts:
        with part.open("rb") as piece:
            shutil.copyfileobj(piece, file, 1 << 20)


def _join_arrays(parts: Sequence[Path], file: BinaryIO) -> None:
    """Join files of `write_json_array`: each is `[]`, or `[`, its rows and `]` on lines of their own."""
    separator = b"[\n"
    for part in parts:
        size = part.stat().st_size
        if size <= len(b"[]\n"):
            continue
        file.write(separator)
        separator = b",\n"
        with part.open("rb") as piece:
            piece.seek(len(b"[\n"))
            left = size - len(b"[\n" + b"\n]\n")
            while left and (data := piece.read(min(left, 1 << 20))):
                file.write(data)
                left -= len(data)
    file.write(b"[]\n" if separator == b"[\n" else b"\n]\n")
