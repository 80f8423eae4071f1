"""SEED-Bench as LLaVA scores its answers: the whole response is the letter, or it is wrong.

Parity: haotian-liu/LLaVA@c121f04 scripts/convert_seed_for_submission.py. The script counts a question without an answer
as wrong; here it is missing.
"""

from collections.abc import Mapping

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, NoReferenceError, Recipe
from mmscore.kits.llava.answers import VERSIONS, offer_for


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    if item.answer is None:
        raise NoReferenceError("answer")
    return {"accuracy": float(item.prediction == item.answer)}


RECIPE = Recipe(
    summary="SEED-Bench as LLaVA's script scores answers: the letter alone",
    parity="LLaVA convert_seed_for_submission.py",
    versions=VERSIONS,
    columns=("answer",),
    parse=lambda item, version: Parsed(item.prediction, "whole response"),
    metrics=_score_row,
    groups=("split", "category"),
    default_for=offer_for("SEED-Bench", "seed_bench"),
)
