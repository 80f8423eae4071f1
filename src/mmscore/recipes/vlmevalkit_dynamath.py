"""DynaMath as VLMEvalKit reports it: short answers, read by rules or by a judge, on average and in the worst case.

The answer is that of the JSON object in a response, else the response itself; a number or a letter that is not read so
is asked of a judge, and without one it is wrong, but for a right letter among the first three characters. `worst_case`
is the share of questions all of whose variants are right. The table shows both over all rows, by subject and by level.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/dynamath.py:Dynamath.evaluate, DynaMath_auxeval. Kept on
purpose: an empty text is right, since each reference holds it. Not kept: the framework stops at a question without its
first variant, and at a short answer that is a number in JSON where a text is wanted; here such rows count.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, Metrics, Recipe, Row
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.dynamath import is_right, read_response
from mmscore.kits.vlmevalkit.kit_prompts import ANSWER_TYPE
from mmscore.kits.vlmevalkit.rows import (
    KIT,
    RESULTS,
    VERSIONS,
    offer_for_names,
    read_answer_cell,
    read_other_cells,
    require_cell,
    require_column,
)

QUESTION, VARIANT, SUBJECT, LEVEL = "extra.qid", "extra.varid", "extra.subject", "extra.knowledge_level"
FIRST = 1
"""Number of the variant that stands for its question."""


def _read_kind(item: Item) -> str:
    return require_cell(read_other_cells(item), ANSWER_TYPE)


def _parse(item: Item, version: str) -> Parsed:
    return read_response(item.prediction, _read_kind(item))


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    right = is_right(parsed.value, read_answer_cell(item), _read_kind(item), item.prediction)
    return {"accuracy": float(right)}


def _keep_worst(scored: Scored) -> Scored:
    """Keep the first variant of each question, with the worst score of all its variants."""
    questions, right = scored.column(QUESTION), scored.scores["accuracy"].tolist()
    worst: dict[str, float] = {}
    for question, score in zip(questions, right, strict=True):
        worst[question] = min(score, worst.get(question, 1.0))
    with_worst = scored.with_scores(accuracy=[worst[question] for question in questions])
    return with_worst.where(np.array([_is_first(cell) for cell in scored.column(VARIANT)], dtype=bool))


def _is_first(cell: str | None) -> bool:
    try:
        return cell is not None and float(cell) == FIRST
    except ValueError:
        return False


def _reduce(scored: Scored, version: str) -> Metrics:
    worst = _keep_worst(scored)
    return {"accuracy": scored.mean("accuracy")} | ({"worst_case": worst.mean("accuracy")} if len(worst) else {})


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    """Lay out the framework's table.

    Raises:
        Error: A row lacks its question, variant, subject or level.
    """
    for column in (QUESTION, VARIANT, SUBJECT, LEVEL):
        require_column(scored, column)
    lines = [("Average", _average_parts(scored)), ("Worst Case", _average_parts(_keep_worst(scored)))]
    names = lines[0][1]
    return [{"Setting": name, **dict.fromkeys(names, math.nan), **averages} for name, averages in lines]


def _average_parts(scored: Scored) -> dict[str, Any]:
    parts = {"Overall": scored}
    parts |= {f"Subject-{name}": part for name, part in scored.split(SUBJECT)}
    parts |= {f"Level-{name}": part for name, part in scored.split(LEVEL)}
    return {name: part.mean("accuracy").value for name, part in parts.items() if len(part)}


RECIPE = Recipe(
    summary="DynaMath as VLMEvalKit scores it: short answers, on average and in the worst case",
    parity=KIT,
    versions=VERSIONS,
    columns=("question", "answer", "label", "extra"),
    parse=_parse,
    metrics=_score_row,
    reduce=_reduce,
    table=_build_table,
    keep=(QUESTION, VARIANT, SUBJECT, LEVEL),
    groups=(SUBJECT, LEVEL),
    joint=(QUESTION,),
    results=RESULTS,
    default_for=offer_for_names("DynaMath", frozenset(("DynaMath", "DynaMath_noprompt"))),
    judges=("vlmevalkit_dynamath",),
)
