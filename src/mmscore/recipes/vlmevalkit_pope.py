"""POPE as VLMEvalKit reports it: F1, accuracy, precision and recall of `Yes`, in percent.

A response that cannot be read counts as no. A category may hold several tags with commas between them,
and a row counts once a tag, in the overall numbers too.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/yorn.py:POPE_rating.
"""

from collections.abc import Sequence

import numpy as np

from mmscore.core.recipe import Metrics, Row
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import offer_for
from mmscore.kits.vlmevalkit.yes_no import build_yes_no_recipe, score_yes_rates
from mmscore.scoring.yes_no_rates import compute_f1, compute_rate


def _reduce(scored: Scored, version: str) -> Metrics:
    copies = [1 if tags is None else tags.count(",") + 1 for tags in scored.column("category")]
    return _compute_rates(scored.take(np.repeat(np.arange(len(scored)), copies)))


def _compute_rates(scored: Scored) -> Metrics:
    rates = {name: compute_rate(scored, name) for name in ("acc", "precision", "recall")}
    estimates = {"f1": compute_f1(rates["precision"], rates["recall"]), **rates}
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


RECIPE = build_yes_no_recipe(
    "POPE as VLMEvalKit scores it: F1 of yes (exact matching)",
    offer_for("POPE"),
    metrics=score_yes_rates,
    settle=lambda scored, version: scored.with_row_clusters(),
    reduce=_reduce,
    table=_build_table,
    keep=("category",),
    groups=(),
)
