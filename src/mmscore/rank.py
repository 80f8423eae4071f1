"""Models side by side over many datasets: average score, and average rank."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mmconvert.errors import Error, UsageError, did_you_mean
from mmscore.recipe import Metrics
from mmscore.settled import Settled, choices_for, open_joined, settle
from mmscore.stats import Estimate

SCHEMA_VERSION = 1
METHODS = GENERATION, LIKELIHOOD = ("generation", "likelihood")
_PERCENT = {"fraction": 100.0}
"""What one is worth in percent; numbers of other units stay as they are."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a file belongs.

    Attributes:
        dataset: Name of the dataset.
        column: What it is ranked in: the dataset itself, or the dimension that it belongs to.
        metric: The number that stands for it; None for the first that the recipe gives.
        factor: What one of it is worth in the ranking; None for 100 where it is a share, else 1.
    """

    dataset: str
    column: str
    metric: str | None = None
    factor: float | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """What one model reached on one dataset.

    Attributes:
        model: Who answered; the file's name where it does not say.
        method: One of `METHODS`.
        dataset: Name of the dataset.
        column: What it is ranked in.
        metric: Name of the number.
        score: The number, times what one of it is worth; a share is in percent.
        n: Rows that went into it.
        unscored: Rows of the file that should have a score and have none.
        recipe: Recipe, with its version.
        predictions: The file.
    """

    model: str
    method: str
    dataset: str
    column: str
    metric: str
    score: float
    n: int
    unscored: int
    recipe: str
    predictions: str


@dataclass(frozen=True, slots=True)
class Standing:
    """One model under one method.

    Attributes:
        model: Who answered.
        scores: Column -> mean of its datasets' scores; a column without a dataset is absent.
        ranks: Column -> place among the models that have it, from 1; equal scores share the mean of theirs.
        average_score: Mean of `scores`, each column counting the same.
        average_rank: Mean of `ranks`.
        missing: Datasets that another model has under this method and this one lacks.
    """

    model: str
    scores: Mapping[str, float]
    ranks: Mapping[str, float]
    average_score: float
    average_rank: float
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """All models under one method.

    Attributes:
        method: One of `METHODS`.
        datasets: Column -> its datasets that some model has; columns in the order given.
        standings: The best average rank first.
    """

    method: str
    datasets: Mapping[str, tuple[str, ...]]
    standings: tuple[Standing, ...]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The outcome.

    Attributes:
        by: What was ranked in, in a word.
        tables: One a method, for the methods that occur.
        cells: What went into them.
        sizes: Column -> how many datasets it has where all are there; empty when nobody says.
    """

    by: str
    tables: tuple[Table, ...]
    cells: tuple[Cell, ...]
    sizes: Mapping[str, int]

    @property
    def complete(self) -> bool:
        """Whether every model has every dataset, and every row a score."""
        gaps = any(standing.missing for table in self.tables for standing in table.standings)
        return not gaps and not any(cell.unscored for cell in self.cells)

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


def measure(
    path: str,
    place: Callable[[str | None, frozenset[str]], Place],
    recipe: str | None = None,
    *,
    metric: str | None = None,
    method_columns: Sequence[str] = ("method",),
    format: str | None = None,
) -> Cell:
    """Score one file.

    Args:
        path: A predictions file of one model, one dataset and one method.
        place: (dataset that the file names, or None; tasks of its rows) -> where it belongs.
        recipe: Name of the recipe; None takes the one that fits.
        metric: The number to take; None leaves it to the place.
        method_columns: Columns that may say how answers were made, `extra.key` for a key of `extra`.
        format: Format of the file; None to recognise it by its content.

    Raises:
        UsageError: As `score`; or the file's dataset cannot be told, or the recipe has no such number.
        Error: As `score`; or the file holds several datasets or methods, or has no value.
    """
    rows = open_joined(path, format=format)
    datasets = rows.distinct("dataset")
    if len(datasets) > 1:
        raise Error(f"{path} dataset: holds {', '.join(datasets[:5])}. Give each dataset a file of its own.")
    found = place(datasets[0] if datasets else None, frozenset(rows.distinct("task")))
    (choice,) = choices_for(rows, [recipe] if recipe else [])
    known = [name for name in method_columns if name.partition(".")[0] in rows.names]
    settled = settle(rows, choice, keep=known)
    name, estimate = _number(settled.metrics(), metric or found.metric, path, choice.name)
    factor = _PERCENT.get(estimate.unit, 1.0) if metric or found.factor is None else found.factor
    return Cell(
        model=", ".join(rows.distinct("model")) or rows.title,
        method=_method(settled, known, path),
        dataset=found.dataset,
        column=found.column,
        metric=name,
        score=estimate.value * factor,
        n=estimate.n,
        unscored=settled.unscored,
        recipe=f"{choice.name}@{choice.version}",
        predictions=path,
    )


def _number(metrics: Metrics, wanted: str | None, path: str, recipe: str) -> tuple[str, Estimate]:
    name = next(iter(metrics)) if wanted is None else wanted
    if name not in metrics:
        hint = did_you_mean(name, metrics)
        raise UsageError(f"{path}: {recipe} gives no number {name!r}.{hint} Found: {', '.join(metrics)}.")
    estimate = metrics[name]
    if math.isnan(estimate.value):
        raise Error(f"{path}: {recipe} gives no value for {name}. Leave the file out.")
    if estimate.higher_is_better is False:
        raise UsageError(f"{path}: of {name}, less is better, and a ranking puts the largest first. Name another.")
    return name, estimate


def _method(settled: Settled, columns: Sequence[str], path: str) -> str:
    for column in columns:
        said = {value for value in settled.rows.rows[column].unique().to_pylist() if value is not None}
        methods = {LIKELIHOOD if value == LIKELIHOOD else GENERATION for value in said}
        if len(methods) > 1:
            raise Error(f"{path} {column}: holds answers by generation and by likelihood. Give each a file of its own.")
        if methods:
            return methods.pop()
    return GENERATION


def rank(
    cells: Sequence[Cell], by: str, columns: Sequence[str] = (), sizes: Mapping[str, int] | None = None
) -> Ranking:
    """Rank models, each method by itself.

    The score of a column is the plain mean of its datasets, the average score the plain mean of a model's
    columns; a model without any dataset of a column is not ranked there.

    Args:
        cells: One a model, method and dataset.
        by: What the columns are, in a word.
        columns: Their order; others follow as they come.
        sizes: Column -> how many datasets it has where all are there.

    Raises:
        UsageError: Two cells are for the same model, method and dataset.
    """
    seen: dict[tuple[str, str, str], str] = {}
    for cell in cells:
        key = (cell.model, cell.method, cell.dataset)
        if key in seen:
            raise UsageError(
                f"{seen[key]} and {cell.predictions} are both {cell.model} on {cell.dataset} by {cell.method}. "
                "Drop one, or say which dataset each is: NAME=PATH."
            )
        seen[key] = cell.predictions
    tables = []
    for method in METHODS:
        having = [cell for cell in cells if cell.method == method]
        order = [name for name in columns if any(c.column == name for c in having)]
        if having:
            tables.append(_table(method, having, list(dict.fromkeys([*order, *(c.column for c in having)]))))
    return Ranking(by, tuple(tables), tuple(cells), sizes or {})


def _table(method: str, cells: Sequence[Cell], columns: Sequence[str]) -> Table:
    models = list(dict.fromkeys(cell.model for cell in cells))
    datasets = {name: tuple(dict.fromkeys(c.dataset for c in cells if c.column == name)) for name in columns}
    scores: dict[str, dict[str, float]] = {model: {} for model in models}
    for model in models:
        for name in columns:
            values = [cell.score for cell in cells if (cell.model, cell.column) == (model, name)]
            if values:
                scores[model][name] = math.fsum(values) / len(values)
    ranks: dict[str, dict[str, float]] = {model: {} for model in models}
    for name in columns:
        having = [model for model in models if name in scores[model]]
        for model, place in zip(having, shared_ranks([scores[model][name] for model in having]), strict=True):
            ranks[model][name] = place
    own = {model: {cell.dataset for cell in cells if cell.model == model} for model in models}
    standings = [
        Standing(
            model,
            scores[model],
            ranks[model],
            math.fsum(scores[model].values()) / len(scores[model]),
            math.fsum(ranks[model].values()) / len(ranks[model]),
            tuple(name for names in datasets.values() for name in names if name not in own[model]),
        )
        for model in models
    ]
    standings.sort(key=lambda standing: (standing.average_rank, -standing.average_score, standing.model))
    return Table(method, datasets, tuple(standings))


def shared_ranks(scores: Sequence[float]) -> list[float]:
    """Give each score its place, the largest first; equal ones share the mean of their places.

    Args:
        scores: Numbers of which more is better.

    Returns:
        Places from 1, in the order of the scores.

    Example:
        >>> shared_ranks([0.5, 0.9, 0.5, 0.1])
        [2.5, 1.0, 2.5, 4.0]
    """
    return [
        1 + sum(other > score for other in scores) + (sum(other == score for other in scores) - 1) / 2
        for score in scores
    ]
