"""MMVP as VLMEvalKit reports it: a pair of images under one question is right when both rows are.

Rows are paired in the order of their index, first with second, third with fourth. `pair_accuracy`
has one value a pair, on its first row; a pair without both answers takes no part.

Parity: open-compass/VLMEvalKit vlmeval/dataset/utils/multiple_choice.py:mcq_vanilla_eval,
report_acc_MMVP, whose table calls the pairs Overall and the rows Average.
"""

import math
from collections.abc import Sequence

from mmconvert.core.errors import Error
from mmscore.core.recipe import Facts, Row
from mmscore.core.table import MISSING, REJECTED, Scored
from mmscore.kits.vlmevalkit.choices import build_choice_recipe, is_from_kit


def _adjust_rows(scored: Scored, version: str) -> Scored:
    """Give each pair its score.

    Raises:
        Error: The rows do not come in pairs of one question.
    """
    ids, questions = scored.column("id"), scored.column("question")
    present = [n for n, status in enumerate(scored.column("status")) if status not in (MISSING, REJECTED)]
    numbers = sorted(present, key=lambda n: (int(ids[n]) if ids[n].isdigit() else math.inf, ids[n]))
    if len(numbers) % 2:
        raise Error(f"MMVP has pairs of rows, found {len(numbers)}. Give the predictions of the whole benchmark.")
    hits, both = scored.scores["accuracy"], [math.nan] * len(scored)
    for first, second in zip(numbers[::2], numbers[1::2], strict=True):
        if questions[first] != questions[second]:
            raise Error(f"question: rows {ids[first]} and {ids[second]} are a pair and must have the same one.")
        both[first] = hits[first] * hits[second]
    return scored.with_scores(pair_accuracy=both)


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    return [{"Average": scored.mean("accuracy").value, "Overall": scored.mean("pair_accuracy").value}]


def _default_for(facts: Facts) -> str | None:
    return "rows of MMVP" if is_from_kit(facts) and facts.datasets == {"MMVP"} else None


RECIPE = build_choice_recipe(
    "MMVP as VLMEvalKit scores it, in pairs (exact matching)",
    _default_for,
    settle=_adjust_rows,
    table=_build_table,
    keep=("question",),
    groups=(),
)
