r"""VisuLogic as VLMEvalKit reports it: the letter in the last `\boxed{}` or behind a phrase; accuracy by category.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_mcq.py:VisuLogic.evaluate,
vlmeval/dataset/utils/visulogic.py:VisuLogic_acc. Not kept: a category without rows, at which the framework stops, is
left out; a failed inference is no answer here and counts apart, the framework scores its failure text as wrong.
"""

import math
from collections.abc import Mapping, Sequence

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, Recipe, Row
from mmscore.core.table import SCORED, Scored
from mmscore.kits.vlmevalkit.rows import KIT, RESULTS, VERSIONS, offer_for_names, read_answer_cell
from mmscore.parsers.vlmevalkit_boxed_letter import vlmevalkit_boxed_letter

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/visulogic.py:VisuLogic_acc
CATEGORIES = (
    "Quantitative Reasoning", "Spatial Reasoning", "Positional Reasoning", "Attribute Reasoning", "Stylistic Reasoning",
    "Other",
)  # fmt: skip


def _parse(item: Item, version: str) -> Parsed:
    return vlmevalkit_boxed_letter(item.prediction)


def _score(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    return {"accuracy": float(parsed.value == read_answer_cell(item))}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    scored = scored.with_status(SCORED)
    parts = {"Overall": scored, **dict(scored.split("category"))}
    return [_build_line(name, parts[name]) for name in ("Overall", *CATEGORIES) if name in parts]


def _build_line(category: str, scored: Scored) -> Row:
    hits = math.fsum(scored.scores["accuracy"])
    return {"category": category, "tot": len(scored), "hit": int(hits), "acc": hits / len(scored) * 100}


RECIPE = Recipe(
    "VisuLogic as VLMEvalKit scores it: accuracy by category",
    KIT,
    VERSIONS,
    columns=("answer", "label"),
    parse=_parse,
    metrics=_score,
    default_for=offer_for_names("VisuLogic", frozenset(("VisuLogic",))),
    table=_build_table,
    keep=("category",),
    groups=("category",),
    results=RESULTS,
)
