"""HRBench as VLMEvalKit reports it: multiple choice, averaged over the cycles in which options are rotated.

A line for each cycle and category. `Average` gives every cycle the same weight; a cycle that has no row of a category
counts there as 0.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_mcq.py:HRBenchDataset.evaluate (with `exact_matching`),
vlmeval/dataset/utils/hrbench.py:report_acc_hrbench. Not kept: a failed inference is no answer here and counts apart;
the framework scores its failure text as wrong.
"""

import math
from collections.abc import Mapping, Sequence

from mmscore.core.recipe import Row
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.choices import build_choice_recipe
from mmscore.kits.vlmevalkit.rows import offer_for_names

CYCLE = "extra.cycle_category"
ALL, AVERAGE = "all", "Average"


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    cycles = {name: _average_types(rows) for name, rows in sorted(scored.split(CYCLE))}
    lines = [
        {"cycle": cycle, "type": type, "accuracy": v} for cycle, found in cycles.items() for type, v in found.items()
    ]
    types = dict.fromkeys(line["type"] for line in lines)
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
    table=_build_table,
    keep=("category", CYCLE),
    groups=("category", CYCLE),
)
