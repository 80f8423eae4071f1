"""Parts of the rows of a split, which several processes work on."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from mmconvert.io.parquet import cut, open_checked_parquet


class RowsPart(msgspec.Struct, frozen=True):
    """Row groups of a file.

    Attributes:
        file: The file.
        groups: The first of them, and the one behind the last.
        rows: Places of their rows among those of the split: of the first, and of the one behind the last.
        bytes: Their bytes, uncompressed.
    """

    file: Path
    groups: tuple[int, int]
    rows: tuple[int, int]
    bytes: int


def list_parts(files: Sequence[Path], size: int) -> Iterator[RowsPart]:
    """Cut the files of a split into parts of about so many bytes, uncompressed, by the files alone."""
    before = 0
    for file in files:
        metadata = open_checked_parquet(file).metadata
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        sizes = [size] * (1 + sum(group.total_byte_size for group in groups) // size)
        for span in cut(file, sizes):
            inside = groups[span.start : span.end]
            first = before + span.row
            rows = first, first + sum(group.num_rows for group in inside)
            yield RowsPart(file, (span.start, span.end), rows, sum(group.total_byte_size for group in inside))
        before += metadata.num_rows
