"""POPE as VLMEvalKit reports it: F1, accuracy, precision and recall of `Yes`, in percent.

A reply that cannot be read counts as no. A category may hold several tags with commas between them,
and a row counts once a tag, in the overall numbers too.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/yorn.py:POPE_rating.
"""

from collections.abc import Sequence

import numpy as np

from mmscore.core.recipe import Facts, Metrics, Recipe, Row
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import KIT, VERSIONS, is_from_kit
from mmscore.kits.vlmevalkit.yes_no import COLUMNS, parse, score_yes_rates
from mmscore.scoring.yes_no_rates import compute_f1, compute_rate


def _adjust_rows(scored: Scored, version: str) -> Scored:
    return scored.with_row_clusters()


def _reduce(scored: Scored, version: str) -> Metrics:
    copies = [1 if tags is None else tags.count(",") + 1 for tags in scored.column("category")]
    return _compute_rates(scored.take(np.repeat(np.arange(len(scored)), copies)))


def _compute_rates(scored: Scored) -> Metrics:
    precision, recall = compute_rate(scored, "precision"), compute_rate(scored, "recall")
    estimates = {
        "f1": compute_f1(precision, recall),
        "acc": compute_rate(scored, "acc"),
        "precision": precision,
        "recall": recall,
    }
    return {name: estimate.scale(100, "percent") for name, estimate in estimates.items()}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    tags = [set() if tags is None else tags.split(",") for tags in scored.column("category")]
    lines = [{"split": "Overall", **_list_values(_reduce(scored, version))}]
    for tag in sorted({tag for row in tags for tag in row}):
        rows = [number for number, row in enumerate(tags) for own in row if own == tag]
        lines.append({"split": tag, **_list_values(_compute_rates(scored.take(np.array(rows))))})
    return lines


def _list_values(metrics: Metrics) -> dict[str, float]:
    return {"Overall" if name == "f1" else name: estimate.value for name, estimate in metrics.items()}


def _default_for(facts: Facts) -> str | None:
    return "rows of POPE from a VLMEvalKit table" if is_from_kit(facts, "POPE") else None


RECIPE = Recipe(
    summary="POPE as VLMEvalKit scores it: F1 of yes (exact matching)",
    parity=KIT,
    versions=VERSIONS,
    columns=COLUMNS,
    parse=parse,
    metrics=score_yes_rates,
    settle=_adjust_rows,
    reduce=_reduce,
    table=_build_table,
    keep=("category",),
    groups=(),
    default_for=_default_for,
    judges=("vlmevalkit_yes_no",),
)
