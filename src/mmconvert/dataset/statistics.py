"""How many rows of a split have which task and category, from those columns alone."""

from collections.abc import Sequence
from pathlib import Path

from mmconvert.dataset.card import SplitInfo
from mmconvert.dataset.shards import Shard
from mmconvert.dataset.value_counts import COLUMNS, ValueCounts, add_counts, add_value_counts
from mmconvert.io.parquet import open_checked_parquet

_ROWS = 100_000


def build_split_info(folder: Path, split: str, shards: Sequence[Shard]) -> SplitInfo:
    """Describe a split for the card.

    Args:
        folder: The dataset's folder.
        split: Its name.
        shards: All of its files; those whose writer has not counted their values are read, their columns `COLUMNS`
            alone.
    """
    counts: ValueCounts = {}
    for shard in shards:
        known = shard.counts
        add_counts(counts, _count_file(folder / shard.file) if known is None else known)
    ordered = {name: dict(sorted(counts[name].items())) for name in COLUMNS if counts.get(name)}
    return SplitInfo(split, sum(s.rows for s in shards), sum(s.bytes for s in shards), ordered)


def _count_file(file: Path) -> ValueCounts:
    parquet = open_checked_parquet(file)
    there = [name for name in COLUMNS if name in parquet.schema_arrow.names]
    counts: ValueCounts = {}
    # A few row groups of images together: each alone holds some hundred rows.
    for batch in parquet.iter_batches(_ROWS, columns=there, use_threads=False):
        add_value_counts(counts, batch)
    return counts
