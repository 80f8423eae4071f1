"""MMBench's CircularEval as VLMEvalKit runs it: a question is right when all its rotations are.

`circular_accuracy` has one value a question, on the row that shows it unrotated; a rotation whose
unrotated row is not known takes no part, and none is looked for beyond the rows of the file and of
`--answers`. A question with a rotation that has no answer and no wrong one is left open and takes no
part either. `vanilla_accuracy` is the accuracy of the unrotated rows alone, the same questions and n.

Parity: open-compass/VLMEvalKit vlmeval/dataset/image_mcq.py:evaluate_heuristic with
`exact_matching`, vlmeval/dataset/utils/multiple_choice.py:mcq_circular_eval, report_acc. The kit
lets a random letter stand for an unread reply only where a judge fails; without one the question
is wrong.
"""

from collections.abc import Mapping, Sequence

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item, Recipe, Row
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.choices import (
    COLUMNS,
    KIT,
    LEVELS,
    VERSIONS,
    build_accuracy_table,
    is_circular,
    is_from_kit,
    parse,
    score_hit,
)
from mmscore.scoring.grouping import score_circular


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    return {"hit": score_hit(item, parsed)}


def _adjust_rows(scored: Scored, version: str) -> Scored:
    return score_circular(scored, "hit")


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    return build_accuracy_table(scored, "circular_accuracy")


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
    metrics=_score_row,
    settle=_adjust_rows,
    table=_build_table,
    keep=("sample", "variant", "group", "split", *LEVELS),
    groups=("split", *LEVELS),
    default_for=_default_for,
    judges=("vlmevalkit_option",),
)
