"""Run a recipe over the rows of a file, batch after batch."""

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from mmconvert.core.arrow import build_column
from mmconvert.core.collect import collect_rarely
from mmconvert.core.errors import Error
from mmconvert.pipeline.engines.local import open_crew
from mmscore.core.predictions.join import REFERENCES, read_unmatched
from mmscore.core.predictions.load import FORMAT, Refusal, Rows
from mmscore.core.recipe import OwnResults, Recipe
from mmscore.core.table import (
    MISSING,
    REJECTED,
    ROW_FIELDS,
    Scored,
)
from mmscore.scoring.collector import TOGETHER, Collector, find_source_column, mark_failures, read_items
from mmscore.scoring.judging.panel import Panel, Sitting
from mmscore.scoring.parts import RecipeReference, RowsPart, choose_size, cut_parts, report_parts, score_part
from mmscore.scoring.signature import Fingerprint

_WORTH = 4.0
"""Seconds of processor time of the rest of a file for which others are started; each loads for about half a second."""
_TRIED = (256, 1024)
"""Rows of the first batches: the first one loads what a recipe needs, the next one shows what a row takes."""


class UnlabelledError(Error):
    """No row of a file has the reference that its recipe compares with."""


def score_rows(
    rows: Rows,
    recipe: Recipe,
    version: str,
    *,
    dataset: str | None = None,
    by: Sequence[str] = (),
    progress: Callable[[int, int], None] = lambda done, total: None,
    sitting: Sitting | None = None,
    fingerprint: Fingerprint | None = None,
    workers: int = 1,
    reference: RecipeReference | None = None,
) -> tuple[Scored, tuple[Refusal, ...]]:
    """Parse and score every row; `Recipe.settle` comes later.

    Args:
        rows: The file, joined with its references.
        recipe: How to score.
        version: One of the recipe's versions.
        dataset: Name of the benchmark that replaces the column `dataset`.
        by: Further columns to keep, `extra.key` for a key of `extra`.
        progress: Called first, and after each batch, with the rows done so far, and those of the file.
        sitting: Whoever judges rows after the rules; None when the rules stand alone.
        fingerprint: Takes in the rows as they are read; None when nobody asks for digests.
        workers: Most processes that share the rows of a file that takes seconds. The results do not depend on it.
        reference: How they find the recipe; None where they cannot, so that this process works alone.

    Returns:
        All rows, whatever became of them: those of the file in order, then those that could not be
        read and those that are missing; and why rows were rejected, or got no verdict.

    Raises:
        UnlabelledError: No row has a reference although the recipe compares with one.
        Error: No row has options although the recipe chooses among them.
    """
    kept = [name for name in dict.fromkeys([*by, *recipe.groups, *recipe.keep]) if name not in ROW_FIELDS.names]
    panel = sitting.panel if sitting else None
    needed = {"id", "prediction", "prediction_status", *TOGETHER, *list_columns_read(recipe, panel)}
    needed |= {*map(find_source_column, kept)}
    known = sorted(needed & REFERENCES)
    # A judge that compares with no reference needs none.
    wanted = [] if panel and not REFERENCES & panel.columns else [n for n in known if n not in recipe.optional]
    references = [name for name in known if name in rows.names]
    if wanted and not references:
        raise _build_no_reference_error(rows, wanted)
    own = recipe.results if recipe.results and recipe.results.covers(rows.list_distinct(FORMAT)) else None
    if recipe.has_options is not None:
        _require_options(rows, recipe, dataset, own)
    collector = Collector(rows.path, kept, sitting, own)
    digested = fingerprint.columns if fingerprint else frozenset()
    progress(0, len(rows))
    batches = _Batches(rows.read(sorted((needed | digested) & rows.names)), dataset, references)
    alone = workers == 1 or reference is None or sitting is not None or recipe.asks_outside
    read = iter(batches)
    seconds, timed, shared = 0.0, 0, False
    with collect_rarely():
        for batch in read:
            started = time.thread_time()
            if fingerprint:
                fingerprint.add(batch)
            collector.add(batch, recipe, version)
            progress(collector.rows, len(rows))
            if collector.rows > _TRIED[0]:
                seconds, timed = seconds + time.thread_time() - started, timed + len(batch)
            shared = not alone and seconds * (len(rows) - collector.rows) > _WORTH * timed
            if shared:
                break
    if shared and reference is not None:
        part = RowsPart(reference, rows.path, tuple(kept), own is not None, fingerprint)
        parts = cut_parts(part, read, collector.rows, choose_size(timed / seconds if seconds else 0))
        with open_crew(workers) as run:
            for gathered in run(score_part, report_parts(parts, progress, len(rows))):
                collector.take(gathered)
                if fingerprint and gathered.fingerprint:
                    fingerprint.merge(gathered.fingerprint)
    if not batches.labelled and (wanted or (collector.bare and not collector.has_scores)):
        raise _build_no_reference_error(rows, wanted or known or recipe.optional or recipe.columns)
    for ids, status in (([refusal.id for refusal in rows.rejected], REJECTED), (rows.missing, MISSING)):
        facts = read_unmatched(rows, ids, [*TOGETHER, *map(find_source_column, kept)])
        collector.add_unscored(facts if dataset is None else _add_dataset(facts, dataset), status)
    return collector.scored(), rows.rejected + tuple(collector.refusals)


class _Batches:
    """The batches of a file, read once, whoever takes them.

    Attributes:
        labelled: One of them had a reference.
    """

    def __init__(self, batches: Iterator[pa.RecordBatch], dataset: str | None, references: Sequence[str]) -> None:
        self._batches = batches
        self._dataset = dataset
        self._references = references
        self._tried = list(_TRIED)
        self.labelled = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            if self._dataset is not None:
                batch = _add_dataset(batch, self._dataset)
            self.labelled = self.labelled or any(has_value(batch.column(name)) for name in self._references)
            while self._tried and len(batch) > self._tried[0]:
                first = self._tried.pop(0)
                yield batch.slice(0, first)
                batch = batch.slice(first)
            yield batch


def list_columns_read(recipe: Recipe, panel: Panel | None) -> frozenset[str]:
    """Name the columns that a recipe and its judges read of a row."""
    return frozenset(recipe.fields) | (panel.columns if panel else frozenset())


def _build_no_reference_error(rows: Rows, columns: Sequence[str]) -> UnlabelledError:
    lacking = f"no row has a reference (columns {', '.join(columns)})"
    if not rows.sides:
        return UnlabelledError(f"{rows.path}: {lacking}. Give the dataset that has them: --answers DATASET.")
    key = rows.sides[1]
    column = "prediction"
    holds = column in key.names and any(part.column(0).null_count < len(part) for part in key.read([column]))
    held = f", it holds responses ({' and '.join(key.list_distinct(FORMAT))})" if holds else ""
    return UnlabelledError(
        f"{rows.path}: {lacking}, and {key.path} has none either{held}. "
        "Give the benchmark's own file of questions and references: --answers FILE."
    )


def _require_options(rows: Rows, recipe: Recipe, dataset: str | None, own: OwnResults | None) -> None:
    """Look for one answered row with options, before a judge is asked about any.

    Raises:
        Error: There are answered rows, and none has options.
    """
    count = 0
    for batch in rows.read(sorted({"prediction", *recipe.fields} & rows.names)):
        batch = _add_dataset(batch, dataset) if dataset is not None else batch
        batch = mark_failures(batch, own) if own else batch
        answered = batch.filter(pc.is_valid(batch.column("prediction")))
        parts = (answered.slice(start, _TRIED[0]) for start in range(0, len(answered), _TRIED[0]))
        items = chain.from_iterable(read_items(part, recipe.fields) for part in parts)
        if recipe.has_options and any(map(recipe.has_options, items)):
            return
        count += answered.num_rows
    if count:
        raise Error(
            f"{rows.path}: {count:,} of {count:,} rows have no options, and the recipe reads a choice by them. Give a "
            "column options, or A, B, C, ..., or the dataset that has them (--answers DATASET), or choose another "
            "--recipe."
        )


def _add_dataset(batch: pa.RecordBatch, dataset: str) -> pa.RecordBatch:
    column = build_column([dataset] * batch.num_rows, pa.string())
    if "dataset" in batch.schema.names:
        return batch.set_column(batch.schema.names.index("dataset"), "dataset", column)
    return batch.append_column("dataset", column)


def has_value(column: pa.Array) -> bool:
    """Tell whether some row of a column has a value; a list without elements is none."""
    if pa.types.is_list(column.type):
        column = column.flatten()
    return bool(len(column) > column.null_count)
