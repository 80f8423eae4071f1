"""MMTrustEval's benchmark as a ranking: 32 tasks in ten sub-aspects and five aspects.

A model's average score over all ten sub-aspects, or all five aspects, is the framework's total, and its place among
models
by that score the framework's rank.
"""

from collections.abc import Callable, Mapping, Sequence

from mmconvert.core.errors import Error, UsageError
from mmscore.core.ranking import GENERATION, RankCell
from mmscore.core.report import Entry
from mmscore.kits.mmtrusteval.benchmark_rank import (
    AWARENESS,
    AWARENESS_WEIGHTS,
    ORDER,
    PATHS,
    SUBASPECTS,
    build_path,
    compute_task_score,
)

Row = Mapping[str, object]

_WHOLE = 12
"""Divisible by the number of tasks of every sub-aspect."""


def _list_weights(subaspect: str) -> Mapping[str, float]:
    if subaspect == AWARENESS:
        return {task: _WHOLE * part for task, part in AWARENESS_WEIGHTS.items()}
    tasks = SUBASPECTS[subaspect]
    return dict.fromkeys(tasks, _WHOLE / len(tasks))


WEIGHTS: Mapping[str, Mapping[str, float]] = {name: _list_weights(name) for name in ORDER}
"""Sub-aspect -> its tasks and their weights, which add up to the same in each."""


def find_aspect(subaspect: str) -> str:
    """Name the aspect of a sub-aspect.

    Example:
        >>> find_aspect("OOD in Robustness")
        'Robustness'
    """
    return subaspect.rpartition(" in ")[2]


def build_columns(name_of: Callable[[str], str]) -> dict[str, tuple[str, ...]]:
    """Give the columns of a ranking and the tasks that each needs.

    Args:
        name_of: Sub-aspect -> its column: `find_aspect`, or `str` for the sub-aspect itself.

    Example:
        >>> build_columns(find_aspect)["Privacy"]
        ('P.1', 'P.2', 'P.3', 'P.4', 'P.5', 'P.6')
    """
    found: dict[str, tuple[str, ...]] = {}
    for name, tasks in WEIGHTS.items():
        found[name_of(name)] = (*found.get(name_of(name), ()), *tasks)
    return found


def build_task_cells(entries: Sequence[Entry], name_of: Callable[[str], str]) -> list[RankCell]:
    """Score the tasks of each model out of the tables of its reports.

    Args:
        entries: Files scored by a recipe whose table holds what the framework's score scripts give.
        name_of: As for `build_columns`.

    Returns:
        One cell a model and task for which there are logs.

    Raises:
        UsageError: A log stands there twice for one model.
        Error: A file has no such numbers, or a task lacks a log that it cannot do without.
    """
    models: dict[str, list[tuple[Entry, Row]]] = {}
    for entry in entries:
        rows = [row for row in entry.table if "task" in row and "log" in row]
        if not rows:
            why = f" ({entry.messages[-1]})" if entry.messages else ""
            raise Error(
                f"{entry.predictions}: {entry.recipe} gives no numbers of a task of MMTrustEval{why}. "
                "Name its dataset: NAME=PATH."
            )
        models.setdefault(entry.model, []).extend((entry, row) for row in rows)
    return [cell for model, found in models.items() for cell in _build_model_cells(model, found, name_of)]


def _build_model_cells(model: str, found: Sequence[tuple[Entry, Row]], name_of: Callable[[str], str]) -> list[RankCell]:
    results: dict[str, dict[str, Row]] = {}
    of_task: dict[str, list[Entry]] = {}
    for entry, row in found:
        task, log = str(row["task"]), str(row["log"])
        logs = results.setdefault(build_path(task, log), {})
        if log in logs:
            raise UsageError(f"{entry.predictions}: there is another log {log} of {model}. Drop one, or give --model.")
        logs[log] = {name: value for name, value in row.items() if name not in ("task", "log")}
        of_task.setdefault(task, []).append(entry)
    cells = []
    for subaspect, weights in WEIGHTS.items():
        for task in (task for task in weights if any(path in results for path in PATHS[task])):
            try:
                score = compute_task_score(task, results)
            except Error as error:
                raise Error(f"{model}, {task}: {error}") from None
            cells.append(_build_cell(model, task, name_of(subaspect), score, weights[task], of_task[task]))
    return cells


def _build_cell(model: str, task: str, column: str, score: float, weight: float, entries: Sequence[Entry]) -> RankCell:
    recipes = dict.fromkeys(f"{entry.recipe}@{entry.version}" for entry in entries)
    return RankCell(
        model=model,
        method=GENERATION,
        dataset=task,
        column=column,
        metric="score",
        score=score,
        n=sum(entry.counts.scored for entry in entries),
        unscored=sum(entry.counts.unscored for entry in entries),
        recipe=", ".join(recipes),
        predictions=", ".join(dict.fromkeys(entry.predictions for entry in entries)),
        weight=weight,
        partial=any(entry.partial for entry in entries),
    )
