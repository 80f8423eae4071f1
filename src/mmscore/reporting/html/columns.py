"""Columns of the file beside its scored rows."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mmscore.core.predictions.load import Rows, find_column_type
from mmscore.scoring.scored_file import Result


def beside(result: Result, names: Sequence[str]) -> pa.Table:
    """Read columns of the file, one row for each scored row, in that order.

    Args:
        result: One file under one recipe.
        names: Columns of the schema; one that the file lacks is null.

    Returns:
        The columns; null for rows that could not be read or that nothing was predicted for.
    """
    having = [name for name in names if name in result.rows.names]
    table = pa.Table.from_batches(result.rows.read(["id", *having]))
    place = pc.index_in(result.scored.rows["id"], value_set=table["id"].combine_chunks(), skip_nulls=True)
    found = table.take(place.combine_chunks())
    nulls = {name: pa.nulls(len(found), find_column_type(name)) for name in names if name not in having}
    return pa.table({name: nulls[name] if name in nulls else found[name] for name in names})


def rows_by_id(rows: Rows, ids: pa.Array, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Read columns of some rows.

    Args:
        rows: A file.
        ids: Which rows.
        names: Columns; those that the file lacks are left out.

    Returns:
        Id -> column -> value, for the ids that the file has.
    """
    having = [name for name in names if name in rows.names]
    found: dict[str, dict[str, Any]] = {}
    for batch in rows.read(["id", *having]):
        wanted = batch.filter(pc.is_in(batch.column("id"), value_set=ids, skip_nulls=True))
        found.update((row["id"], row) for row in wanted.to_pylist())
    return found
