"""VLMEvalKit's other yes/no benchmarks: accuracy overall, by category and by l2-category, in percent.

A response that holds both words or neither is wrong, unless a judge is asked and reads one of them in it.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_yorn.py:ImageYORNDataset.evaluate
(with `exact_matching` where no judge is asked), vlmeval/dataset/utils/yorn.py:default_rating. Not
kept: a failed inference counts apart, the framework scores its failure text.
"""

from collections.abc import Sequence

from mmscore.core.recipe import Facts, Row, average_scores
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import has_shared_rule
from mmscore.kits.vlmevalkit.yes_no import build_yes_no_recipe

OTHER_REPORTS = ("MME", "Hallusion", "POPE", "AMBER", "VSR-zeroshot")
"""Benchmarks whose name contains one of these have a report of their own."""


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    line = {"Overall": scored.mean("accuracy").value * 100}
    for level in ("category", "l2_category"):
        parts = sorted(scored.split(level), key=lambda part: part[0])
        line |= {name: part.mean("accuracy").value * 100 for name, part in parts}
    return [line]


def _default_for(facts: Facts) -> str | None:
    other = any(part in name for name in facts.datasets for part in OTHER_REPORTS)
    if facts.tasks == {"yes_no"} and has_shared_rule(facts) and not other:
        return "yes/no rows of a VLMEvalKit table"
    return None


RECIPE = build_yes_no_recipe(
    "Yes/no questions as VLMEvalKit scores them (exact matching)",
    _default_for,
    reduce=average_scores("percent", scale=100),
    table=_build_table,
    keep=("category", "l2_category"),
    groups=("category", "l2_category"),
)
