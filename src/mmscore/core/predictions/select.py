"""The rows of a file that match a condition; others are neither scored nor counted."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from mmconvert.core.arrow import from_numpy
from mmconvert.core.conditions import parse_condition
from mmconvert.dataset.selected import build_no_match_error, mask_rows
from mmscore.core.predictions.join import read_unmatched
from mmscore.core.predictions.load import Rows


def select_rows(rows: Rows, where: str) -> Rows:
    """Choose the rows that match a condition, and the missing questions that do.

    Rows that could not be read stay `rejected`: nobody knows what they hold.

    Raises:
        UsageError: The condition cannot be read.
        Error: No row matches, or the file has not the columns that the condition looks at.
    """
    condition = parse_condition(where)
    columns = sorted(condition.columns & rows.names) or ["id"]
    mask = np.concatenate(
        [np.empty(0, np.bool_), *(mask_rows(batch, condition, rows.path) for batch in rows.read(columns))]
    )
    count = int(mask.sum())
    if not count:
        raise build_no_match_error(rows.path, len(rows))

    def read(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        start = 0
        for batch in rows.read(columns):
            yield batch.filter(from_numpy(mask[start : start + len(batch)]))
            start += len(batch)

    facts = read_unmatched(rows, rows.missing, sorted(condition.columns)) if rows.missing else None
    known = facts is not None and condition.columns <= {*facts.schema.names}
    missing = condition.mask(facts) if facts is not None and known else [False] * len(rows.missing)
    return replace(
        rows,
        identity=rows.identity.filter(from_numpy(mask)),
        read=read,
        partner=None if rows.partner is None else rows.partner.filter(from_numpy(mask)),
        partial=rows.partial or count < len(rows),
        missing=tuple(id for id, kept in zip(rows.missing, missing, strict=True) if kept),
        notes=(*rows.notes, f"{rows.path}: {count:,} of {len(rows):,} rows match --where {where!r}."),
    )
