"""VSR as VLMEvalKit reports it: precision, recall and accuracy of `Yes` in percent, F1 as a fraction.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/yorn.py:VSR_rating. Kept on purpose:
the two units.
"""

from collections.abc import Sequence

from mmscore.core.recipe import Metrics, Row
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import offer_for
from mmscore.kits.vlmevalkit.yes_no import build_yes_no_recipe, score_yes_rates
from mmscore.scoring.yes_no_rates import compute_f1, compute_rate


def _reduce(scored: Scored, version: str) -> Metrics:
    rates = {name: compute_rate(scored, name) for name in ("precision", "recall", "acc")}
    percents = {name: estimate.scale(100, "percent") for name, estimate in rates.items()}
    return {**percents, "f1_score": compute_f1(rates["precision"], rates["recall"])}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    return [{name: estimate.value for name, estimate in _reduce(scored, version).items()}]


RECIPE = build_yes_no_recipe(
    "VSR as VLMEvalKit scores it: precision, recall, accuracy, F1 (exact matching)",
    offer_for("VSR", "VSR-zeroshot"),
    metrics=score_yes_rates,
    reduce=_reduce,
    table=_build_table,
)
