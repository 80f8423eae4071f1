"""CV-Bench as VLMEvalKit reports it: multiple choice; of the 2D questions each source weighs the same.

Where every row is of split 2D the table has a column for each source and their mean as Overall; else it is that of
`vlmevalkit_mcq`.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_mcq.py:CVBench.evaluate (with `exact_matching`),
CVBench.report_accuracy. Not kept: a failed inference is no answer here and counts apart; the framework scores its
failure text as wrong.
"""

import math
from collections.abc import Sequence

from mmscore.core.recipe import Row
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.choices import LEVELS, build_accuracy_table, build_choice_recipe
from mmscore.kits.vlmevalkit.rows import offer_for_names

SOURCE = "extra.source"
FLAT = "2D"


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    if set(scored.column("split")) != {FLAT}:
        return build_accuracy_table(scored, "accuracy")
    values = {source: rows.mean("accuracy").value for source, rows in scored.split(SOURCE)}
    return [{"split": FLAT, **values, "Overall": math.fsum(values.values()) / len(values)}]


RECIPE = build_choice_recipe(
    "CV-Bench as VLMEvalKit scores it: multiple choice, sources of 2D questions alike (exact matching)",
    offer_for_names("CV-Bench", frozenset(("CV-Bench-2D", "CV-Bench-3D"))),
    table=_build_table,
    keep=("split", *LEVELS, SOURCE),
    groups=("split", *LEVELS, SOURCE),
)
