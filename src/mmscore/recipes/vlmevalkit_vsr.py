"""VSR as VLMEvalKit reports it: precision, recall and accuracy of `Yes` in percent, F1 as a fraction.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/yorn.py:VSR_rating. Kept on purpose:
the two units.
"""

from collections.abc import Mapping, Sequence

from mmscore.kits.vlmevalkit.rows import KIT, VERSIONS, answer_cell, is_from_kit
from mmscore.metrics.vlmevalkit_yes_no import vlmevalkit_yes_no
from mmscore.parsed import Parsed
from mmscore.parsers.vlmevalkit_yes_no import vlmevalkit_yes_no as read_yes_no
from mmscore.recipe import Facts, Item, Metrics, Recipe, Row
from mmscore.scored import Scored
from mmscore.yes_no_rates import f1, rate, scores_of_yes

YES = "Yes"


def _parse(item: Item, version: str) -> Parsed:
    return read_yes_no(item.prediction)


def _metrics(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    answer = answer_cell(item)
    right = float(vlmevalkit_yes_no(answer, parsed.value))
    return {"acc": right, **scores_of_yes(right, said=parsed.value == YES, wanted=answer == YES)}


def _reduce(scored: Scored, version: str) -> Metrics:
    rates = {name: rate(scored, name) for name in ("precision", "recall", "acc")}
    percents = {name: estimate.scaled(100, "percent") for name, estimate in rates.items()}
    return {**percents, "f1_score": f1(rates["precision"], rates["recall"])}


def _table(scored: Scored, version: str) -> Sequence[Row]:
    return [{name: estimate.value for name, estimate in _reduce(scored, version).items()}]


def _default_for(facts: Facts) -> str | None:
    return "rows of VSR from a VLMEvalKit table" if is_from_kit(facts, "VSR-zeroshot") else None


RECIPE = Recipe(
    summary="VSR as VLMEvalKit scores it: precision, recall, accuracy, F1 (exact matching)",
    parity=KIT,
    versions=VERSIONS,
    columns=("answer", "label"),
    parse=_parse,
    metrics=_metrics,
    reduce=_reduce,
    table=_table,
    default_for=_default_for,
)
