"""Rows drawn at random: those with the smallest hashes of seed, file and row.

A row is drawn or not whatever order, workers and processes there are, and a larger sample holds the smaller one.
"""

import hashlib
import heapq
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from mmconvert.core.errors import Error, take_first_line
from mmconvert.core.rows import Where
from mmconvert.dataset.dataset import open_dataset
from mmconvert.io.parquet import open_checked_parquet


class Drawable(Protocol):
    """What rows are drawn from: `mmconvert.pipeline.read.Records` of a file with the words that tell it from others."""

    def list_places(self) -> Iterator[Where]:
        """List the rows to draw from."""


def find_bound(files: Iterable[tuple[str, Drawable]], count: int, seed: int) -> int:
    """Find the hash up to which rows are drawn.

    Args:
        files: The files with what tells each from others of its name.
        count: Rows to draw from all files together, from 1.
        seed: Seed of `hash_row`.

    Returns:
        The hash of the last row that is drawn; -1 where there are no rows.

    Raises:
        Error: A file is damaged.
    """
    hashes = (hash_row(seed, prefix, where) for prefix, records in files for where in records.list_places())
    return max(heapq.nsmallest(count, hashes), default=-1)


def list_stored_places(files: Iterable[Path]) -> Iterator[Where]:
    """List the rows of parquet files, or of datasets that consist of them, without reading a row.

    Raises:
        Error: A file is damaged.
    """
    for path in files:
        for file in [path] if path.is_file() else [f for some in open_dataset(path).files.values() for f in some]:
            try:
                count = open_checked_parquet(file).metadata.num_rows
            except (pa.ArrowException, OSError) as error:
                raise Error(f"{file}: cannot be read as parquet ({take_first_line(error)}). Get it again.") from None
            yield from (Where(file.name, number) for number in range(count))


def hash_row(seed: int, prefix: str, where: Where) -> int:
    """Give the place of a row in the order of chance, 0 to 2**64 - 1.

    Args:
        seed: Another seed gives another order.
        prefix: What tells the file from others of its name.
        where: The row.
    """
    return hash_text(f"{seed} {prefix}{where.file} {where.row}")


def hash_text(text: str) -> int:
    """Give a number from 0 to 2**64 - 1 that looks like chance and is always the same.

    Example:
        >>> hash_text("a") == hash_text("a") != hash_text("b")
        True
    """
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())
