"""POPE as VLMEvalKit reports it: F1, accuracy, precision and recall of `Yes`, in percent.

A reply that cannot be read counts as no. A category may hold several tags with commas between them,
and a row counts once a tag, in the overall numbers too.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/yorn.py:POPE_rating.
"""

from collections.abc import Mapping, Sequence

import numpy as np

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


def _settle(scored: Scored, version: str) -> Scored:
    return scored.with_row_clusters()


def _reduce(scored: Scored, version: str) -> Metrics:
    copies = [1 if tags is None else tags.count(",") + 1 for tags in scored.column("category")]
    return _rates(scored.take(np.repeat(np.arange(len(scored)), copies)))


def _rates(scored: Scored) -> Metrics:
    precision, recall = rate(scored, "precision"), rate(scored, "recall")
    estimates = {"f1": f1(precision, recall), "acc": rate(scored, "acc"), "precision": precision, "recall": recall}
    return {name: estimate.scaled(100, "percent") for name, estimate in estimates.items()}


def _table(scored: Scored, version: str) -> Sequence[Row]:
    tags = [set() if tags is None else tags.split(",") for tags in scored.column("category")]
    lines = [{"split": "Overall", **_values(_reduce(scored, version))}]
    for tag in sorted({tag for row in tags for tag in row}):
        rows = [number for number, row in enumerate(tags) for own in row if own == tag]
        lines.append({"split": tag, **_values(_rates(scored.take(np.array(rows))))})
    return lines


def _values(metrics: Metrics) -> dict[str, float]:
    return {"Overall" if name == "f1" else name: estimate.value for name, estimate in metrics.items()}


def _default_for(facts: Facts) -> str | None:
    return "rows of POPE from a VLMEvalKit table" if is_from_kit(facts, "POPE") else None


RECIPE = Recipe(
    summary="POPE as VLMEvalKit scores it: F1 of yes (exact matching)",
    parity=KIT,
    versions=VERSIONS,
    columns=("answer", "label"),
    parse=_parse,
    metrics=_metrics,
    settle=_settle,
    reduce=_reduce,
    table=_table,
    keep=("category",),
    groups=(),
    default_for=_default_for,
)
