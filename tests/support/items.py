"""Rows that stand in memory, scored as those of a predictions file."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from mmconvert.core.errors import Error
from mmscore.core.predictions.load import Rows, find_column_type
from mmscore.core.recipe import Item, Recipe
from mmscore.core.table import Scored
from mmscore.scoring.score import score_rows


def rows_of(rows: Sequence[Mapping[str, Any]]) -> Rows:
    """Open rows with these columns as a predictions file is opened."""
    names = dict.fromkeys(name for row in rows for name in row) or (*Item._fields, "status")
    return opened(pa.table({name: pa.array([row.get(name) for row in rows], find_column_type(name)) for name in names}))


def opened(table: pa.Table) -> Rows:
    return Rows("items", frozenset(table.column_names), table, lambda names: iter(table.select(names).to_batches()))


def score_items(items: Sequence[Item], recipe: Recipe, version: str | None = None) -> Scored:
    """Score and settle items; a row that is refused is an error."""
    version = version or next(iter(recipe.versions))
    rows = rows_of([item._replace(id=item.id or str(number))._asdict() for number, item in enumerate(items)])
    scored, refusals = score_rows(rows, recipe, version)
    if refusals:
        raise Error(refusals[0].message)
    return recipe.settle(scored, version) if scored.scores else scored
