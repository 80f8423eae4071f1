"""MMBench's CircularEval as VLMEvalKit runs it: a question is right when all its rotations are.

`circular_accuracy` has one value a question, on the row that shows it unrotated; a rotation whose
unrotated row is not in the file takes no part, and a missing rotation is not looked for. A
question with a failed rotation and no wrong one is left open and takes no part either.
`vanilla_accuracy` is the accuracy of the unrotated rows alone, the same questions and n.

Parity: open-compass/VLMEvalKit vlmeval/dataset/image_mcq.py:evaluate_heuristic with
`exact_matching`, vlmeval/dataset/utils/multiple_choice.py:mcq_circular_eval, report_acc. The kit
lets a random letter stand for an unread reply only where a judge fails; without one the question
is wrong.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from mmconvert.errors import Error, got
from mmscore.parsed import Parsed
from mmscore.recipe import Facts, Item, Recipe, Row
from mmscore.scored import Scored
from mmscore.vlmevalkit_choices import (
    COLUMNS,
    KIT,
    LEVELS,
    VERSIONS,
    accuracy_table,
    hit,
    is_circular,
    is_from_kit,
    parse,
)

ROTATION = 1_000_000
"""The kit writes rotation k of question i as row i + k * this number."""


def _metrics(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    return {"hit": hit(item, parsed)}


def _settle(scored: Scored, version: str) -> Scored:
    hits = scored.scores["hit"]
    columns = (scored.column(name) for name in ("id", "sample", "variant", "group"))
    questions = [_question(*row) for row in zip(*columns, strict=True)]
    right: dict[str | None, float] = {}
    for (question, _), value in zip(questions, hits, strict=True):
        known = right.get(question, 1.0)
        # One wrong rotation settles the question; otherwise a rotation without an answer leaves it open.
        right[question] = 0.0 if 0.0 in (known, value) else known * value
    heads = np.array([is_head for _, is_head in questions], dtype=bool)
    circular = np.array([right[question] for question, _ in questions])
    return Scored(scored.rows, {}).with_scores(
        circular_accuracy=np.where(heads, circular, np.nan), vanilla_accuracy=np.where(heads, hits, np.nan)
    )


def _question(id: str | None, sample: str | None, variant: int | None, group: str | None) -> tuple[str | None, bool]:
    """Name the question of a row, and tell whether the row shows it unrotated.

    Raises:
        Error: Neither a variant nor a whole number as id tells which rotation the row shows.
    """
    if variant is not None and sample is not None:
        return sample, variant == 0
    if id is None:
        return None, False
    if not (id.isascii() and id.isdigit()):
        raise Error(
            f"id: expected a whole number or a row with sample and variant {got(id)}. Give circular rows either."
        )
    if group is not None:
        return group, id == group
    return str(int(id) % ROTATION), int(id) < ROTATION


def _table(scored: Scored, version: str) -> Sequence[Row]:
    return accuracy_table(scored, "circular_accuracy")


def _default_for(facts: Facts) -> str | None:
    if is_from_kit(facts) and is_circular(facts):
        return "circular multiple-choice rows of a VLMEvalKit table"
    return None


RECIPE = Recipe(
    summary="MMBench's circular evaluation as VLMEvalKit runs it (exact matching)",
    parity=KIT,
    versions=VERSIONS,
    columns=COLUMNS,
    parse=parse,
    metrics=_metrics,
    settle=_settle,
    table=_table,
    keep=("sample", "variant", "group", "split", *LEVELS),
    groups=("split", *LEVELS),
    default_for=_default_for,
)
