"""GQA as LLaVA hands its answers in: without dots at the end, in small letters, equal to the answer.

Parity: haotian-liu/LLaVA@c121f04 scripts/convert_gqa_for_eval.py, and the `accuracy` of GQA's own eval.py; its other
numbers (consistency, validity, plausibility, distribution) need files beside the questions.
"""

from collections.abc import Mapping

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, NoReferenceError, Recipe
from mmscore.kits.llava.answers import VERSIONS, offer_for


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    if item.answer is None:
        raise NoReferenceError("answer")
    return {"accuracy": float(parsed.value == item.answer)}


RECIPE = Recipe(
    summary="GQA as LLaVA's script hands answers in: the whole answer in small letters",
    parity="LLaVA convert_gqa_for_eval.py",
    versions=VERSIONS,
    columns=("answer",),
    parse=lambda item, version: Parsed(item.prediction.rstrip(".").lower(), "whole response"),
    metrics=_score_row,
    default_for=offer_for("GQA", "gqa"),
)
