"""HRBench as VLMEvalKit reports it: multiple choice, averaged over the cycles in which options are rotated.

A line for each cycle and category. `Average` gives every cycle the same weight; a cycle that has no row of a category
counts there as 0. `average` is that of all categories, `accuracy` the plain mean of the rows.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_mcq.py:HRBenchDataset.evaluate (with `exact_matching`),
vlmeval/dataset/utils/hrbench.py:report_acc_hrbench. Not kept: a failed inference is no answer here and counts apart;
the framework scores its failure text as wrong.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mmscore.core.estimates import compute_macro
from mmscore.core.recipe import Metrics, Row
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.choices import build_choice_recipe
from mmscore.kits.vlmevalkit.rows import offer_for_names, require_column

CYCLE = "extra.cycle_category"
ALL, AVERAGE = "all", "Average"


def _reduce(scored: Scored, version: str) -> Metrics:
    cycles = compute_macro(part.mean("accuracy") for _, part in scored.split(CYCLE))
    return {"average": cycles, "accuracy": scored.mean("accuracy")}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    """Lay out the framework's table.

    Raises:
        Error: A row has no cycle.
    """
    require_column(scored, CYCLE)
    cycles = {name: _average_types(rows) for name, rows in sorted(scored.split(CYCLE))}
    lines: list[dict[str, Any]] = [
        {"cycle": cycle, "type": type, "accuracy": v} for cycle, found in cycles.items() for type, v in found.items()
    ]
    types = dict.fromkeys(type for found in cycles.values() for type in found)
    for type in types:
        values = [found[type] for found in cycles.values() if type in found]
        lines.append({"cycle": AVERAGE, "type": type, "accuracy": math.fsum(values) / len(cycles)})
    return lines


def _average_types(scored: Scored) -> Mapping[str, float]:
    values = {name: rows.mean("accuracy").value for name, rows in scored.split("category")}
    return {ALL: scored.mean("accuracy").value} | values


RECIPE = build_choice_recipe(
    "HRBench as VLMEvalKit scores it: multiple choice, averaged over cycles (exact matching)",
    offer_for_names("HRBench", frozenset(("HRBench4K", "HRBench8K"))),
    reduce=_reduce,
    table=_build_table,
    keep=("category", CYCLE),
    groups=("category", CYCLE),
)
