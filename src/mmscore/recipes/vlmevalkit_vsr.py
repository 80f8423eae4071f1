"""VSR as VLMEvalKit reports it: precision, recall and accuracy of `Yes` in percent, F1 as a fraction.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/yorn.py:VSR_rating. Kept on purpose:
the two units.
"""

from collections.abc import Sequence

from mmscore.core.recipe import Facts, Metrics, Recipe, Row
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import KIT, VERSIONS, is_from_kit
from mmscore.kits.vlmevalkit.yes_no import COLUMNS, parse, score_yes_rates
from mmscore.scoring.yes_no_rates import compute_f1, compute_rate


def _reduce(scored: Scored, version: str) -> Metrics:
    rates = {name: compute_rate(scored, name) for name in ("precision", "recall", "acc")}
    percents = {name: estimate.scale(100, "percent") for name, estimate in rates.items()}
    return {**percents, "f1_score": compute_f1(rates["precision"], rates["recall"])}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    return [{name: estimate.value for name, estimate in _reduce(scored, version).items()}]


def _default_for(facts: Facts) -> str | None:
    return "rows of VSR from a VLMEvalKit table" if is_from_kit(facts, "VSR-zeroshot") else None


RECIPE = Recipe(
    summary="VSR as VLMEvalKit scores it: precision, recall, accuracy, F1 (exact matching)",
    parity=KIT,
    versions=VERSIONS,
    columns=COLUMNS,
    parse=parse,
    metrics=score_yes_rates,
    reduce=_reduce,
    table=_build_table,
    default_for=_default_for,
    judges=("vlmevalkit_yes_no",),
)
