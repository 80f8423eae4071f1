"""The rows of a dataset that match a condition, read as if there were no others."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec.structs import asdict

from mmconvert.core.arrow import from_numpy
from mmconvert.core.conditions import Condition, parse_condition
from mmconvert.core.errors import Error
from mmconvert.dataset.dataset import Dataset, open_dataset


class SelectedDataset(Dataset, frozen=True):
    """A dataset of which other rows are not seen; `splits` and `fingerprint` are of those that are.

    Attributes:
        condition: What rows match.
        whole_rows: Rows of the dataset, those that do not match too.
    """

    condition: Condition
    whole_rows: int

    def batches(
        self, columns: Sequence[str] | None = None, split: str | None = None, *, first: int = 0
    ) -> Iterator[pa.RecordBatch]:
        """Read batches as `Dataset.batches` does, of the rows that match; `first` counts these alone."""
        wanted = None if columns is None else sorted({*columns, *self.condition.columns})
        for batch in super().batches(wanted, split):
            mask = mask_rows(batch, self.condition, str(self.path))
            kept = batch.filter(from_numpy(mask))
            skipped = min(first, len(kept))
            kept, first = kept.slice(skipped), first - skipped
            yield kept if columns is None else kept.select([name for name in columns if name in kept.schema.names])


def select_rows(dataset: Dataset, where: str) -> SelectedDataset:
    """Choose the rows of a dataset that match a condition; reads the columns that it looks at.

    Raises:
        UsageError: The condition cannot be read.
        Error: No row matches, a column that it looks at is not there, or a file is damaged.
    """
    condition = parse_condition(where)
    splits = {
        split: sum(
            int(mask_rows(batch, condition, str(dataset.path)).sum())
            for batch in dataset.batches(sorted(condition.columns or {"id"}), split)
        )
        for split in dataset.splits
    }
    if not any(splits.values()):
        raise build_no_match_error(str(dataset.path), dataset.num_rows)
    fingerprint = hashlib.sha256(f"{dataset.fingerprint} {where}".encode()).hexdigest()
    fields = asdict(dataset) | {"splits": splits, "fingerprint": fingerprint}
    return SelectedDataset(**fields, condition=condition, whole_rows=dataset.num_rows)


def open_selected(path: Path, where: str | None) -> Dataset:
    """Open a dataset, or the rows of it that match a condition.

    Raises:
        UsageError: As `open_dataset` and `select_rows`.
        Error: As these.
    """
    dataset = open_dataset(path)
    return dataset if where is None else select_rows(dataset, where)


def mask_rows(batch: pa.RecordBatch, condition: Condition, path: str) -> npt.NDArray[np.bool_]:
    """Tell of each row whether it matches.

    Raises:
        Error: A column that the condition looks at is not there.
    """
    if missing := condition.columns - {*batch.schema.names}:
        lacking = ", ".join(sorted(missing))
        raise Error(f"{path}: has no column {lacking}, which --where looks at. Leave that test out of --where.")
    return condition.mask(batch)


def build_no_match_error(path: str, rows: int) -> Error:
    """Say that no row matches."""
    return Error(f"{path}: none of {rows:,} rows matches --where. Change the condition.")
