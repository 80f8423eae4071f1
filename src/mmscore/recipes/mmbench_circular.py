"""MMBench's CircularEval as VLMEvalKit runs it: a question is right when all its rotations are.

`circular_accuracy` has one value a question, on the row that shows it unrotated; a rotation whose
unrotated row is not known takes no part, and none is looked for beyond the rows of the file and of
`--answers`. A question with a rotation that has no answer and no wrong one is left open and takes no
part either. `vanilla_accuracy` is the accuracy of the unrotated rows alone, the same questions and n.

Parity: open-compass/VLMEvalKit vlmeval/dataset/image_mcq.py:evaluate_heuristic with
`exact_matching`, vlmeval/dataset/utils/multiple_choice.py:mcq_circular_eval, report_acc. The framework
lets a random letter stand for an unread response only where a judge fails; without one the question
is wrong.
"""

from collections.abc import Mapping
from functools import partial

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Columnar, Facts, Item
from mmscore.kits.vlmevalkit.choices import (
    LEVELS,
    build_accuracy_table,
    build_choice_recipe,
    is_circular,
    is_from_kit,
    parse,
    score_choice,
    score_columns,
)
from mmscore.scoring.grouping import score_circular

LLAVA = frozenset(("llava_answers",))
"""Formats of LLaVA's answers, which it sends to MMBench's server; its repository scores no rotations itself."""


def _default_for(facts: Facts) -> str | None:
    if is_from_kit(facts) and is_circular(facts):
        return "circular multiple-choice rows of a VLMEvalKit table"
    if facts.formats == LLAVA and facts.tasks == {"multiple_choice"} and facts.circular:
        return "LLaVA's answers to circular multiple-choice questions, as the server of MMBench scores them"
    return None


def _score_hit(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    return {"hit": score_choice(item, parsed, version)["accuracy"]}


RECIPE = build_choice_recipe(
    "MMBench's circular evaluation as VLMEvalKit runs it (exact matching)",
    _default_for,
    metrics=_score_hit,
    columnar=Columnar(parse, _score_hit, partial(score_columns, name="hit")),
    settle=lambda scored, version: score_circular(scored, "hit"),
    table=lambda scored, version: build_accuracy_table(scored, "circular_accuracy"),
    keep=("sample", "variant", "group", "split", *LEVELS),
)
