"""MathVista as VLMEvalKit reports it: options and numbers, read directly or by a judge, in percent.

A response that is nothing but the right number, or names an option, is read without a judge; from any other a
judge takes the answer, and without one it is wrong. Kept on purpose: free-form questions whose
answer is a text or a list are always wrong.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_vqa.py:MathVista.evaluate,
vlmeval/dataset/utils/mathvista.py:post_check, MathVista_acc. Not kept: the framework asks its judge about a
right answer 0 as well.
"""

from collections.abc import Mapping, Sequence

from mmconvert.core.errors import Error
from mmscore.core.judge import JUDGED
from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.core.recipe import Item, Recipe, Row, average_scores
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.mathvista import (
    GradedQuestion,
    build_mathvista_table,
    is_right,
    read_directly,
    read_question,
)
from mmscore.kits.vlmevalkit.rows import KIT, RESULTS, VERSIONS, offer_for

TASK, SKILLS = "extra.task", "extra.skills"


def _parse(item: Item, version: str) -> Parsed:
    value = read_directly(read_question(item), item.prediction)
    return UNPARSED if value is None else Parsed(str(value), "read directly")


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    return {"accuracy": float(parsed.value is not None and is_right(read_question(item), parsed.value))}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    """Lay out the framework's table.

    Raises:
        Error: A row lacks its task or its skills.
    """
    tasks, skills = scored.column(TASK), scored.column(SKILLS)
    if None in tasks or None in skills:
        raise Error("extra: a row has no task or no skills. Keep these columns of the framework's table.")
    direct = [v is not None and how != JUDGED for v, how in zip(*map(scored.column, ("value", "how")), strict=True)]
    right = scored.scores["accuracy"].astype(bool).tolist()
    return build_mathvista_table(map(GradedQuestion, tasks, skills, direct, right))


RECIPE = Recipe(
    summary="MathVista as VLMEvalKit scores it: options and numbers, read directly or by a judge",
    parity=KIT,
    versions=VERSIONS,
    columns=("question", "answer", "label", "extra"),
    parse=_parse,
    metrics=_score_row,
    reduce=average_scores("percent", scale=100),
    table=_build_table,
    keep=(TASK, SKILLS),
    groups=(TASK,),
    results=RESULTS,
    default_for=offer_for("MathVista"),
    judges=("vlmevalkit_mathvista",),
)
