"""LogicVista as VLMEvalKit reports it: the letters that a judge reads in an answer, in percent by skill.

Without a judge no row has a score. Letters are compared in any order and case. A row counts for each skill that its
column names.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_vqa.py:LogicVista.evaluate,
vlmeval/dataset/utils/logicvista.py:LogicVista_auxeval, evaluate_logicvista. Kept on purpose: several right letters are
such only where `, ` stands between them. Not kept: an answer in which the judge finds no letters has no score here, the
framework counts it as wrong.
"""

import math
from collections.abc import Mapping, Sequence

from mmscore.core.judge import JUDGED
from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.core.recipe import Item, Recipe, Row, average_scores
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import (
    JUDGED_KIT,
    RESULTS,
    VERSIONS,
    offer_for_names,
    read_answer_cell,
    require_column,
)

SKILL = "extra.skill"
SKILLS = ("inductive", "deductive", "numerical", "spatial", "mechanical")
OVERALL = "Overall"


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    if parsed.how != JUDGED or parsed.value is None:
        return {}
    wanted = "".join(sorted(letter.lower() for letter in read_answer_cell(item).split(", ")))
    return {"accuracy": float("".join(sorted(letter.lower() for letter in parsed.value)) == wanted)}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    """Lay out the framework's table.

    Raises:
        Error: A row has no skill.
    """
    cells, right = require_column(scored, SKILL), scored.scores["accuracy"].astype(int).tolist()
    parts = {OVERALL: right}
    parts |= {skill: [hit for cell, hit in zip(cells, right, strict=True) if skill in cell] for skill in SKILLS}
    return [
        {
            "Task&Skill": name,
            "tot": len(hits),
            "hit": sum(hits),
            "acc": sum(hits) / len(hits) * 100 if hits else math.nan,
        }
        for name, hits in parts.items()
    ]


RECIPE = Recipe(
    summary="LogicVista as VLMEvalKit scores it: the letters that a judge reads",
    parity=JUDGED_KIT,
    versions=VERSIONS,
    columns=("question", "answer", "label"),
    parse=lambda item, version: UNPARSED,
    metrics=_score_row,
    reduce=average_scores("percent", scale=100),
    table=_build_table,
    keep=(SKILL,),
    groups=(SKILL,),
    results=RESULTS,
    default_for=offer_for_names("LogicVista", frozenset(("LogicVista",))),
    judges=("vlmevalkit_logicvista",),
    needs_judge=True,
)
