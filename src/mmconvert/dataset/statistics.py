"""How many rows of a split have which task and category, from those columns alone."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from mmconvert.dataset.card import SplitInfo
from mmconvert.dataset.shards import Shard
from mmconvert.io.parquet import open_checked_parquet

COLUMNS = ("task", "category", "l2_category")
_FEW = 10_000
_ROWS = 100_000


def build_split_info(folder: Path, split: str, shards: Sequence[Shard]) -> SplitInfo:
    """Describe a split for the card.

    Args:
        folder: The dataset's folder.
        split: Its name.
        shards: All of its files.
    """
    counts = count_split_values(folder / shard.file for shard in shards)
    return SplitInfo(split, sum(s.rows for s in shards), sum(s.bytes for s in shards), counts)


def count_split_values(files: Iterable[Path]) -> Mapping[str, Mapping[str, int]]:
    """Count the values of `COLUMNS`; no other column is read, images least of all.

    Args:
        files: The shards of a split.

    Returns:
        Column -> value -> rows, values in order; columns that the shards lack, or have no value in, left out.
    """
    counts: dict[str, Counter[str]] = {name: Counter() for name in COLUMNS}
    for file in files:
        parquet = open_checked_parquet(file)
        there = [name for name in COLUMNS if name in parquet.schema_arrow.names]
        counted = _count_values if parquet.metadata.num_rows > _FEW else _count_few
        # A few row groups of images together: each alone holds some hundred rows.
        for batch in parquet.iter_batches(_ROWS, columns=there, use_threads=False):
            for name in there:
                counts[name].update(counted(batch[name]))
    return {name: dict(sorted(found.items())) for name, found in counts.items() if found}


def _count_few(column: pa.Array) -> Mapping[str, int]:
    return Counter(column.drop_null().to_pylist())


def _count_values(column: pa.Array) -> Mapping[str, int]:
    import pyarrow.compute as pc  # takes longer to load than a few rows to count

    pairs = pc.value_counts(column.drop_null())
    return dict(zip(pairs.field("values").to_pylist(), pairs.field("counts").to_pylist(), strict=True))
