"""The columns whose values a dataset's card counts, and the counts of one batch."""

from collections import Counter
from collections.abc import Mapping

import pyarrow as pa

from mmconvert.core.arrow import list_texts

COLUMNS = ("task", "category", "l2_category")
_FEW = 10_000

ValueCounts = dict[str, dict[str, int]]
"""Column -> value -> rows."""


def add_value_counts(counts: ValueCounts, batch: pa.RecordBatch) -> None:
    """Count the values of `COLUMNS` in one more batch; nulls, and columns that it lacks, are left out."""
    for name in COLUMNS:
        if name in batch.schema.names:
            add_counts(counts, {name: _count_values(batch[name])})


def add_counts(counts: ValueCounts, others: Mapping[str, Mapping[str, int]]) -> None:
    """Add the counts of other rows."""
    for name, values in others.items():
        known = counts.setdefault(name, {})
        for value, rows in values.items():
            known[value] = known.get(value, 0) + rows


def _count_values(column: pa.Array) -> Mapping[str, int]:
    if column.null_count == len(column):
        return {}
    if len(column) <= _FEW and column.type == pa.string():
        counted = Counter(list_texts(column))
        counted.pop(None, None)
        return counted
    import pyarrow.compute as pc  # takes longer to load than a few rows to count

    pairs = pc.value_counts(column.drop_null())
    return dict(zip(pairs.field("values").to_pylist(), pairs.field("counts").to_pylist(), strict=True))
