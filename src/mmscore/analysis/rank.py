"""Models side by side over many datasets: average score, and average rank."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import asdict

from mmconvert.core.errors import Error, UsageError, suggest_spelling
from mmscore.core.ranking import GENERATION, LIKELIHOOD, METHODS, RankCell, RankColumn
from mmscore.core.recipe import Metrics
from mmscore.core.report import Entry
from mmscore.scoring.scored_file import ScoredFile, choose_recipes, open_joined, score_by_recipe

SCHEMA_VERSION = 1
_PERCENT = {"fraction": 100.0}
"""What one is worth in percent; numbers of other units stay as they are."""


class Standing(msgspec.Struct, frozen=True):
    """One model under one method.

    Attributes:
        model: Who answered.
        scores: Column -> mean of its datasets' scores; a column without a dataset is absent.
        ranks: Column -> place among the models that have it, from 1; equal scores share the mean of theirs.
        average_score: Mean of `scores`, each column counting the same.
        average_rank: Mean of `ranks`.
        missing: Datasets that another model has under this method, or all should have, and this one lacks.
        place: Place in the order of the table, from 1; equal ones share the mean of theirs.
    """

    model: str
    scores: Mapping[str, float]
    ranks: Mapping[str, float]
    average_score: float
    average_rank: float
    missing: tuple[str, ...]
    place: float


class Table(msgspec.Struct, frozen=True):
    """All models under one method.

    Attributes:
        method: One of `METHODS`.
        datasets: Column -> its datasets that some model has or all should have; columns in the order given.
        standings: The best average rank first, or the best average score.
    """

    method: str
    datasets: Mapping[str, tuple[str, ...]]
    standings: tuple[Standing, ...]


class Ranking(msgspec.Struct, frozen=True):
    """The outcome.

    Attributes:
        by: What was ranked in, in a word.
        tables: One a method, for the methods that occur.
        cells: What went into them.
        sizes: Column -> how many datasets it has where all are there; empty when nobody says.
        by_score: Tables are in order of the average score.
    """

    by: str
    tables: tuple[Table, ...]
    cells: tuple[RankCell, ...]
    sizes: Mapping[str, int]
    by_score: bool = False

    @property
    def complete(self) -> bool:
        """Whether every model has every dataset, whole, and every row a score."""
        gaps = any(standing.missing for table in self.tables for standing in table.standings)
        return not gaps and not any(cell.unscored or cell.partial for cell in self.cells)

    def to_json(self) -> dict[str, Any]:
        """Give the object of schemas/rank.json."""
        return {
            "schema_version": SCHEMA_VERSION,
            "by": self.by,
            "tables": [
                {
                    "method": table.method,
                    "columns": [
                        {"name": name, "datasets": list(datasets), "size": self.sizes.get(name)}
                        for name, datasets in table.datasets.items()
                    ],
                    "standings": [
                        asdict(standing) | {"missing": list(standing.missing)} for standing in table.standings
                    ],
                }
                for table in self.tables
            ],
            "cells": [asdict(cell) for cell in self.cells],
        }


def score_file(
    path: str,
    place: Callable[[str | None, frozenset[str]], RankColumn],
    recipe: str | None = None,
    *,
    metric: str | None = None,
    method_columns: Sequence[str] = ("method",),
    format: str | None = None,
    recipe_options: str | None = None,
    model: str | None = None,
    method: str | None = None,
) -> RankCell:
    """Score one file.

    Args:
        path: A predictions file of one model, one dataset and one method.
        place: (dataset that the file names, or None; tasks of its rows) -> where it belongs.
        recipe: Name of the recipe; None takes the one that fits.
        metric: The number to take; None leaves it to the place.
        method_columns: Columns that may say how answers were made, `extra.key` for a key of `extra`.
        format: Format of the file; None to recognise it by its content.
        recipe_options: File of options for the recipe.
        model: Model name, if the file does not state it.
        method: One of `METHODS`, for files that do not say it; None for generation.

    Raises:
        UsageError: As `score`; or the file's dataset cannot be told, or the recipe has no such number.
        Error: As `score`; or the file holds several datasets or methods, or has no value.
    """
    rows = open_joined(path, format=format)
    datasets = rows.list_distinct("dataset")
    if len(datasets) > 1:
        raise Error(f"{path} dataset: holds {', '.join(datasets[:5])}. Give each dataset a file of its own.")
    found = place(datasets[0] if datasets else None, frozenset(rows.list_distinct("task")))
    (choice,) = choose_recipes(rows, [recipe] if recipe else [], options=recipe_options)
    known = [name for name in method_columns if name.partition(".")[0] in rows.names]
    settled = score_by_recipe(rows, choice, keep=known)
    return _build_cell(
        settled.metrics(),
        found,
        metric,
        path,
        (choice.name, choice.version),
        model=model or ", ".join(rows.list_distinct("model")) or rows.title,
        method=_find_method(settled, known, path) or method or GENERATION,
        unscored=settled.unscored,
        predictions=path,
        partial=rows.partial,
    )


def score_entry(
    entry: Entry,
    path: str,
    place: Callable[[str | None, frozenset[str]], RankColumn],
    *,
    metric: str | None = None,
    method: str | None = None,
) -> RankCell:
    """Take a number out of a report; the arguments are those of `score_file`.

    Args:
        entry: One file under one recipe.
        path: The report.
        place: As for `score_file`; the report does not know the tasks of rows.
        metric: Likewise.
        method: Likewise; needed where the report does not say it.

    Raises:
        UsageError: As `score_file`; or nobody says how answers were made.
        Error: The report has no value, or answers by several methods.
    """
    found = place(entry.dataset, frozenset())
    facts = (
        _find_only_method(entry.method.split(", ") if entry.method else [], f"{path}: {entry.predictions}") or method
    )
    if facts is None:
        raise UsageError(f"{path}: does not state how the predictions were made. Give --method {GENERATION}.")
    return _build_cell(
        entry.metrics,
        found,
        metric,
        path,
        (entry.recipe, entry.version),
        model=entry.model,
        method=facts,
        unscored=entry.counts.unscored,
        predictions=entry.predictions,
        partial=entry.partial,
    )


def _build_cell(
    metrics: Metrics, found: RankColumn, wanted: str | None, path: str, recipe: tuple[str, str], **facts: Any
) -> RankCell:
    if not metrics:
        raise Error(f"{path}: {recipe[0]} scores no row. Leave the file out.")
    name = wanted or found.metric or next(iter(metrics))
    if name not in metrics:
        hint = suggest_spelling(name, metrics)
        raise UsageError(f"{path}: {recipe[0]} gives no number {name!r}.{hint} Found: {', '.join(metrics)}.")
    estimate = metrics[name]
    if math.isnan(estimate.value):
        raise Error(f"{path}: {recipe[0]} gives no value for {name}. Leave the file out.")
    if estimate.higher_is_better is False:
        raise UsageError(f"{path}: of {name}, less is better, and a ranking puts the largest first. Name another.")
    factor = _PERCENT.get(estimate.unit, 1.0) if wanted or found.factor is None else found.factor
    facts |= {"metric": name, "score": estimate.value * factor, "n": estimate.n}
    return RankCell(dataset=found.dataset, column=found.column, recipe="@".join(recipe), **facts)


def _find_method(settled: ScoredFile, columns: Sequence[str], path: str) -> str | None:
    for column in columns:
        said = [value for value in settled.rows.rows[column].unique().to_pylist() if value is not None]
        if method := _find_only_method(said, f"{path} {column}"):
            return method
    return None


def _find_only_method(said: Iterable[str], where: str) -> str | None:
    methods = {LIKELIHOOD if value == LIKELIHOOD else GENERATION for value in said}
    if len(methods) > 1:
        raise Error(f"{where}: has predictions by generation and by likelihood. Give each its own file.")
    return methods.pop() if methods else None


def require_one_recipe(cells: Sequence[RankCell]) -> None:
    """Make sure that the cells of a dataset and method hold the same number, by the same recipe.

    Raises:
        UsageError: Two do not.
    """
    first: dict[tuple[str, str], RankCell] = {}
    for cell in cells:
        other = first.setdefault((cell.method, cell.dataset), cell)
        if (other.recipe, other.metric) != (cell.recipe, cell.metric):
            raise UsageError(
                f"{cell.dataset}: {other.predictions} has {other.metric} of {other.recipe}, {cell.predictions} has "
                f"{cell.metric} of {cell.recipe}, which cannot be ranked together. Choose one for all with --recipe "
                "and --metric; reports need to have it."
            )


def compute_ranking(
    cells: Sequence[RankCell],
    by: str,
    columns: Sequence[str] = (),
    sizes: Mapping[str, int] | None = None,
    *,
    needed: Mapping[str, Sequence[str]] | None = None,
    by_score: bool = False,
) -> Ranking:
    """Rank models, each method by itself.

    The score of a column is the mean of its datasets, the average score the plain mean of a model's
    columns; a model without any dataset of a column is not ranked there.

    Args:
        cells: One a model, method and dataset.
        by: What the columns are, in a word.
        columns: Their order; others follow as they come.
        sizes: Column -> how many datasets it has where all are there.
        needed: Column -> datasets without which a model is incomplete, even where no other has them.
        by_score: Order the tables by the average score, not by the average rank.

    Raises:
        UsageError: Two cells are for the same model, method and dataset.
    """
    seen: dict[tuple[str, str, str], str] = {}
    for cell in cells:
        key = (cell.model, cell.method, cell.dataset)
        if key in seen:
            raise UsageError(
                f"{seen[key]} and {cell.predictions} are both {cell.model} on {cell.dataset} by {cell.method}. "
                "Drop one, name the dataset of each as NAME=PATH, or choose one recipe: --recipe NAME."
            )
        seen[key] = cell.predictions
    tables = []
    for method in METHODS:
        having = [cell for cell in cells if cell.method == method]
        order = [name for name in columns if any(c.column == name for c in having)]
        if having:
            names = dict.fromkeys([*(needed or ()), *order, *(c.column for c in having)])
            datasets = {name: [c.dataset for c in having if c.column == name] for name in names}
            wanted = {name: tuple(dict.fromkeys([*(needed or {}).get(name, ()), *datasets[name]])) for name in names}
            tables.append(_build_table(method, having, wanted, by_score=by_score))
    return Ranking(by, tuple(tables), tuple(cells), sizes or {}, by_score)


def _build_table(
    method: str, cells: Sequence[RankCell], datasets: Mapping[str, tuple[str, ...]], *, by_score: bool
) -> Table:
    models = list(dict.fromkeys(cell.model for cell in cells))
    scores: dict[str, dict[str, float]] = {model: {} for model in models}
    for model in models:
        for name in datasets:
            parts = [cell for cell in cells if (cell.model, cell.column) == (model, name)]
            if parts:
                total = math.fsum(cell.score * cell.weight for cell in parts)
                scores[model][name] = total / math.fsum(cell.weight for cell in parts)
    ranks: dict[str, dict[str, float]] = {model: {} for model in models}
    for name in datasets:
        having = [model for model in models if name in scores[model]]
        for model, place in zip(having, compute_shared_ranks([scores[model][name] for model in having]), strict=True):
            ranks[model][name] = place
    own = {model: {cell.dataset for cell in cells if cell.model == model} for model in models}
    average_scores = [math.fsum(scores[model].values()) / len(scores[model]) for model in models]
    average_ranks = [math.fsum(ranks[model].values()) / len(ranks[model]) for model in models]
    places = compute_shared_ranks(average_scores if by_score else [-rank for rank in average_ranks])
    standings = [
        Standing(
            model,
            scores[model],
            ranks[model],
            score,
            average_rank,
            tuple(name for names in datasets.values() for name in names if name not in own[model]),
            place,
        )
        for model, score, average_rank, place in zip(models, average_scores, average_ranks, places, strict=True)
    ]
    standings.sort(key=lambda standing: (standing.place, -standing.average_score, standing.model))
    return Table(method, datasets, tuple(standings))


def compute_shared_ranks(scores: Sequence[float]) -> list[float]:
    """Give each score its place, the largest first; equal ones share the mean of their places.

    Args:
        scores: Numbers of which more is better.

    Returns:
        Places from 1, in the order of the scores.

    Example:
        >>> compute_shared_ranks([0.5, 0.9, 0.5, 0.1])
        [2.5, 1.0, 2.5, 4.0]
    """
    return [
        1 + sum(other > score for other in scores) + (sum(other == score for other in scores) - 1) / 2
        for score in scores
    ]
