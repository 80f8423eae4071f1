"""AMBER as VLMEvalKit reports it: accuracy of each dimension, and the plain mean of the dimensions.

References may be spelled in any case. A category outside the table is a dimension of its own; rows
without a category count in `accuracy` only.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/yorn.py:AMBER_rating.
"""

from collections.abc import Mapping, Sequence

from mmscore.core.estimates import compute_macro
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item, Metrics, Row
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import offer_for, read_answer_cell
from mmscore.kits.vlmevalkit.yes_no import build_yes_no_recipe
from mmscore.metrics.vlmevalkit_yes_no import vlmevalkit_yes_no

BENCHMARK, KEY = "AMBER", "amber"
"""Name of the benchmark, and format of its annotations."""

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/yorn.py, AMBER_rating
DIMENSIONS = {
    "discriminative-attribute-state": "Attribute",
    "discriminative-attribute-number": "Attribute",
    "discriminative-attribute-action": "Attribute",
    "discriminative-hallucination": "Existence",
    "discriminative-relation": "Relation",
    "relation": "Relation",
}


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    return {"accuracy": float(vlmevalkit_yes_no(read_answer_cell(item), parsed.value, any_case=True))}


def _adjust_rows(scored: Scored, version: str) -> Scored:
    categories = scored.column("category")
    return scored.with_column("dimension", [DIMENSIONS.get(name, name) for name in categories])


def _reduce(scored: Scored, version: str) -> Metrics:
    average = compute_macro(part.mean("accuracy") for _, part in scored.split("dimension"))
    estimates = {"average": average, "accuracy": scored.mean("accuracy")}
    return {name: estimate.scale(100, "percent") for name, estimate in estimates.items()}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    line = {name: part.mean("accuracy").value * 100 for name, part in scored.split("dimension")}
    return [line | {"Avg ACC": sum(line.values()) / len(line) if line else 0.0}]


def _default_for(facts: Facts) -> str | None:
    if facts.datasets == {BENCHMARK} and facts.formats == {KEY}:
        return "responses with AMBER's own annotations"
    return offer_for(BENCHMARK)(facts)


RECIPE = build_yes_no_recipe(
    "AMBER as VLMEvalKit scores it: mean of the dimensions (exact matching)",
    _default_for,
    metrics=_score_row,
    settle=_adjust_rows,
    reduce=_reduce,
    table=_build_table,
    keep=("category", "dimension"),
    groups=("dimension",),
)
