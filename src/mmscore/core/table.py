"""The scored rows of one predictions file, column by column, so that a million of them stay small."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from mmconvert.core.arrow import build_column, build_scalar, from_numpy, list_texts, number_values, to_numpy
from mmconvert.core.plugin_struct import PluginStruct
from mmscore.core.estimates import Estimate, compute_mean
from mmscore.core.parsed import Parsed

Floats = npt.NDArray[np.float64]

SCORED, EXCLUDED, FAILED, JUDGE_FAILED, MISSING, REJECTED = STATUSES = (
    "scored", "excluded", "failed", "judge_failed", "missing", "rejected",
)  # fmt: skip
"""What became of a row; exactly one each.

scored: it has at least one score. excluded: the recipe leaves it out. failed: inference gave no
answer. missing: nobody asked the model. rejected: the row itself is no good.
"""

_TEXTS = dict.fromkeys(("id", "status", "value", "how"), pa.string())
PARSED_FIELDS = pa.schema({"value": pa.string(), "how": pa.string(), "start": pa.int32(), "end": pa.int32()})
"""What the parser read of a row: `Parsed` as columns."""

ROW_FIELDS = pa.schema({**_TEXTS, "start": pa.int32(), "end": pa.int32()})
"""What every row has: its id, its status, and what the parser read, by which rule, and where."""

SCORES = pa.list_(pa.struct([("name", pa.string()), ("value", pa.float64())]))
"""Scores of a row by name."""

VOTES = pa.list_(
    pa.struct(
        [
            ("judge", pa.string()),
            ("model", pa.string()),
            ("repeat", pa.int32()),
            ("reply", pa.string()),
            ("value", pa.string()),
            ("scores", SCORES),
            ("error", pa.string()),
        ]
    )
)
"""What each of several judges said about a row."""

_JUDGE_TEXTS = dict.fromkeys(("judge_model", "judge_reply", "judge_prompt_sha256"), pa.string())
JUDGE_FIELDS = pa.schema({**_JUDGE_TEXTS, "tries": pa.int32(), "judge_votes": VOTES})
"""What a row also has where a judge was at work: null for rows that it was not asked about."""

CLUSTER = "cluster"
"""Column of whole numbers, equal for rows whose `group` is equal; there only when groups are."""

FAILURE = "#failure"
"""Column of truth values: a failed call that the framework scores; there only in its own result files."""

MADE = "#"
"""Columns whose names begin so were made by a recipe, and stay with the rows as the clusters do."""


class Scored(PluginStruct, frozen=True):
    """Rows in file order with their scores.

    Attributes:
        rows: `ROW_FIELDS`, `JUDGE_FIELDS` where a judge was at work, then the columns that the recipe
            keeps, then `CLUSTER` where rows have groups.
        scores: Score name -> one number a row, in the order in which a recipe first gave them;
            NaN where the row has no such score.
        values_only: Whether nobody asks for errors of means, as in a resample.
    """

    rows: pa.Table
    scores: Mapping[str, Floats]
    values_only: bool = False

    def __len__(self) -> int:
        """Count the rows."""
        return int(self.rows.num_rows)

    def column(self, name: str) -> list[Any]:
        """Give a column as Python values, None for null."""
        values: list[Any] = self.rows[name].to_pylist()
        return values

    def where(self, mask: npt.NDArray[np.bool_]) -> "Scored":
        """Keep the rows that a mask marks, in order."""
        if bool(mask.all()):
            return self
        return self._pick(self.rows.filter(from_numpy(mask)), mask)

    def without_failures(self) -> "Scored | None":
        """Turn scored failures (`FAILURE`) into failed rows without a score; None where there are none."""
        marked = self.rows[FAILURE] if FAILURE in self.rows.column_names else pa.chunked_array([], pa.bool_())
        if not pc.any(marked).as_py():
            return None
        rest = self.with_array("status", pc.if_else(marked, build_scalar(FAILED), self.rows["status"]))
        lost = to_numpy(marked)
        return replace(rest, scores={name: np.where(lost, np.nan, values) for name, values in self.scores.items()})

    def take(self, numbers: npt.NDArray[np.int64]) -> "Scored":
        """Pick rows by number, in the order given; a row may be picked several times."""
        return self._pick(self.rows.take(from_numpy(numbers)), numbers)

    def _pick(self, rows: pa.Table, index: npt.NDArray[Any]) -> "Scored":
        return Scored(rows, {name: s[index] for name, s in self.scores.items()}, self.values_only)

    def with_status(self, status: str) -> "Scored":
        """Keep the rows of one status."""
        mask: npt.NDArray[np.bool_] = to_numpy(pc.equal(self.rows["status"], build_scalar(status)))
        return self.where(mask)

    def only(self, columns: Sequence[str]) -> "Scored":
        """Drop every column of `rows` but these (and the clusters, and those that a recipe made)."""
        names = self.rows.column_names
        kept = [name for name in names if name in columns or name == CLUSTER or name.startswith(MADE)]
        return replace(self, rows=self.rows.select(kept))

    def without(self, column: str) -> "Scored":
        """Drop a column of `rows`."""
        return replace(self, rows=self.rows.drop_columns([column]))

    def with_column(self, name: str, values: Sequence[Any]) -> "Scored":
        """Add or replace a column of texts, one value a row."""
        return self.with_array(name, build_column(values, pa.string()))

    def with_array(self, name: str, array: pa.Array) -> "Scored":
        """Add or replace a column of any type, one value a row."""
        rows = self.rows
        if name in rows.column_names:
            return replace(self, rows=rows.set_column(rows.column_names.index(name), name, array))
        return replace(self, rows=rows.append_column(name, array))

    def with_row_clusters(self) -> "Scored":
        """Make every row a cluster of its own where there are no groups, so that its copies count as one."""
        if CLUSTER in self.rows.column_names:
            return self
        return self.with_array(CLUSTER, from_numpy(np.arange(len(self))))

    def with_scores(self, **scores: Sequence[float] | Floats) -> "Scored":
        """Add or replace scores, one number a row, NaN where the row has none."""
        new = {name: np.asarray(values, dtype=np.float64) for name, values in scores.items()}
        return replace(self, scores={**self.scores, **new})

    def split(self, column: str) -> Iterator[tuple[str, "Scored"]]:
        """Cut the rows by the value of a column.

        Yields:
            Value as text and its rows in order; values in order of first appearance, null left out.
        """
        codes, values = number_values(self.rows[column])
        order = np.argsort(codes, kind="stable")
        bounds = np.searchsorted(codes[order], np.arange(len(values) + 1))
        for code, value in enumerate(values):
            index = order[bounds[code] : bounds[code + 1]]
            yield str(value), self.take(index)

    def mean(self, name: str) -> Estimate:
        """Average one score over the rows that have it; `group` gives the clusters of its error."""
        clustered = CLUSTER in self.rows.column_names and not self.values_only
        clusters = to_numpy(self.rows[CLUSTER]) if clustered else None
        return compute_mean(self.scores[name], clusters)


def build_parsed_columns(parsed: Sequence[Parsed]) -> pa.RecordBatch:
    """Lay out what a parser gave as the columns of `PARSED_FIELDS`.

    Example:
        >>> build_parsed_columns([Parsed("A", "letter", (0, 1)), Parsed(None, "unparsed")]).to_pylist()[1]
        {'value': None, 'how': 'unparsed', 'start': None, 'end': None}
    """
    columns: list[list[Any]] = [
        [one.value for one in parsed],
        [one.how for one in parsed],
        [one.span[0] if one.span else None for one in parsed],
        [one.span[1] if one.span else None for one in parsed],
    ]
    arrays = [build_column(values, field.type) for values, field in zip(columns, PARSED_FIELDS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=PARSED_FIELDS)


def list_values(array: pa.Array) -> list[Any]:
    """Turn a column into Python values, five times faster than `to_pylist` for texts."""
    if pa.types.is_list(array.type) and pa.types.is_string(array.type.value_type):
        texts = list_texts(array.values)
        lists = [texts[start:end] for start, end in pairwise(to_numpy(array.offsets).tolist())]
        return [v if valid else None for v, valid in zip(lists, array.is_valid().to_pylist(), strict=True)]
    values: list[Any] = list_texts(array) if pa.types.is_string(array.type) else array.to_pylist()
    return values


def add_clusters(rows: pa.Table, groups: pa.ChunkedArray, samples: pa.ChunkedArray) -> pa.Table:
    """Add the clusters that `group` names, else `sample`: several responses to a question, and copies of it.

    Args:
        rows: Rows of `Scored`.
        groups: Their `group` texts, null for none.
        samples: Their `sample` texts, null for none.

    Returns:
        The rows with `CLUSTER`, a number of its own where a row has neither; unchanged when no two rows hang together.
    """
    alone = pc.count_distinct(samples).as_py() == len(samples) - samples.null_count
    names = (
        groups
        if alone
        else pc.coalesce(groups, pc.binary_join_element_wise(build_scalar("sample"), samples, build_scalar("\0")))
    )
    if names.null_count == len(names):
        return rows
    codes = names.combine_chunks().dictionary_encode().indices
    alone = from_numpy(np.arange(len(codes), 2 * len(codes), dtype=np.int64))
    return rows.append_column(CLUSTER, pc.coalesce(codes.cast(pa.int64()), alone))
