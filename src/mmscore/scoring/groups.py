"""Numbers of the groups that a column makes, and their plain mean."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import pyarrow.compute as pc

from mmconvert.core.errors import UsageError, suggest_spelling
from mmconvert.core.record import PREDICTION_SCHEMA
from mmscore.core.estimates import compute_macro
from mmscore.core.predictions.load import Rows, find_column_type
from mmscore.core.recipe import Metrics, Recipe
from mmscore.core.table import CLUSTER, JUDGE_FIELDS, MADE, ROW_FIELDS, Scored
from mmscore.scoring.collector import EXTRA, find_source_column, find_value, read_fields

MACRO = "macro"

Groups = Mapping[str, Mapping[str, Metrics]]
"""Column -> its value -> the numbers of the rows that have it."""

_OURS = frozenset((*ROW_FIELDS.names, *JUDGE_FIELDS.names, CLUSTER)) - {"id"}
_SHOWN = 30


def check_breakdown(rows: Rows, by: Sequence[str], made: Sequence[str]) -> None:
    """Check the columns that the user wants to break numbers down by.

    Args:
        rows: The file.
        by: Names of columns, `extra.key` for a key of `extra`.
        made: Columns that the recipe breaks down by; those outside the schema it makes itself.

    Raises:
        UsageError: There is no such column, or its values make no groups.
    """
    own = [name for name in made if name not in PREDICTION_SCHEMA.names]
    for name in by:
        if name in own:
            continue
        if find_source_column(name) not in rows.names:
            hint = suggest_spelling(name, sorted({*rows.names, *own}))
            known = ", ".join(sorted(rows.names))
            raise UsageError(f"{rows.path}: no column {name!r} to break the numbers down by.{hint} Found: {known}.")
        if name == find_source_column(EXTRA):
            listed = ", ".join(f"--by {EXTRA}{key}" for key in _list_keys(rows)[:_SHOWN]) or f"--by {EXTRA}KEY"
            raise UsageError(f"{rows.path}: column {name!r} holds several values a row. Name one of them: {listed}.")
        if str(find_column_type(name)) not in ("string", "int32"):
            raise UsageError(
                f"{rows.path}: column {name!r} holds lists and cannot break the numbers down. Name another."
            )
        if name in _OURS or name.startswith(MADE):
            raise UsageError(
                f"{rows.path}: column {name!r} is called like one of the results and cannot break them down. Rename it."
            )
        if name.startswith(EXTRA):
            _check_key(rows, name.removeprefix(EXTRA))


def _check_key(rows: Rows, key: str) -> None:
    """Refuse a key that no row's `extra` has; rows are read as far as the first that has it."""
    if any(find_value(fields, key) is not None for fields in _read_extras(rows)):
        return
    keys = _list_keys(rows)
    found = f"Found: {', '.join(keys[:_SHOWN])}." if keys else "No row has a key."
    hint = suggest_spelling(key, keys)
    raise UsageError(f"{rows.path}: no row has a value of {EXTRA + key!r} to break the numbers down by.{hint} {found}")


def _list_keys(rows: Rows) -> list[str]:
    """List the keys of `extra` in order of first appearance."""
    return list(dict.fromkeys(key for fields in _read_extras(rows) for key in fields))


def _read_extras(rows: Rows) -> Iterator[Mapping[str, Any]]:
    for batch in rows.read([find_source_column(EXTRA)]):
        for text in pc.unique(batch.column(0)).to_pylist():
            yield read_fields(text)


def compute_groups(valid: Scored, recipe: Recipe, version: str, by: Sequence[str]) -> Groups:
    """Give the numbers of every group, columns of the user first.

    Args:
        valid: Settled rows that have a score.
        recipe: How they were scored, with its own columns.
        version: One of the recipe's versions.
        by: Columns of the user.

    Returns:
        Columns that some row has a value in; values in order of first appearance, those without any number left
        out: a question of several rows counts in the group of its first.

    Raises:
        UsageError: No row has a value in one of the user's columns.
    """
    groups = {}
    for column in dict.fromkeys([*by, *recipe.groups]):
        parts = valid.only([column, *recipe.keep]).split(column)
        metrics = {value: recipe.reduce(part, version) for value, part in parts}
        groups[column] = {value: found for value, found in metrics.items() if any(one.n for one in found.values())}
        if column in by and not groups[column]:
            raise UsageError(f"no scored row has a value of {column!r} to break the numbers down by. Name another.")
    return {column: values for column, values in groups.items() if values}


class Average(msgspec.Struct, frozen=True):
    """Numbers in which every group counts the same.

    Attributes:
        column: The column that makes the groups.
        metrics: Plain means over its groups.
        remarks: What takes no part.
    """

    column: str
    metrics: Metrics
    remarks: tuple[str, ...]


def compute_macro_average(valid: Scored, metrics: Metrics, groups: Groups, by: Sequence[str], path: str) -> Average:
    """Average numbers over the groups of the first column.

    Args:
        valid: The rows that were broken down.
        metrics: Their numbers.
        groups: Their groups.
        by: Columns of the user.
        path: The file, for messages.

    Returns:
        A mean for each of the numbers, over the groups that have it.

    Raises:
        UsageError: There are no groups, or none of them has one of the numbers.
    """
    column = next(iter(groups), None)
    if column is None or (by and column != by[0]):
        raise UsageError(f"{path}: --average macro needs groups, and the rows have none. Name a column with --by.")
    parts = list(groups[column].values())
    if lost := [name for name in metrics if not any(name in part and part[name].n for part in parts)]:
        raise UsageError(
            f"{path}: --average macro cannot give {', '.join(lost)}: no group of {column!r} has that number. "
            "Break down by another column with --by, or leave it out."
        )
    lacking = valid.rows[column].null_count
    remarks = (f"--average macro: {lacking} scored rows have no {column} and take no part.",) if lacking else ()
    return Average(column, {name: compute_macro(p[name] for p in parts if name in p) for name in metrics}, remarks)
