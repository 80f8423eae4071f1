"""CV-Bench as VLMEvalKit reports it: multiple choice; of the 2D questions each source weighs the same.

Where every row is of split 2D the table has a column for each source and their mean as Overall; else it is that of
`vlmevalkit_mcq`. `overall` is that number, `accuracy` the plain mean of the rows.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_mcq.py:CVBench.evaluate (with `exact_matching`),
CVBench.report_accuracy. Not kept: a failed inference is no answer here and counts apart; the framework scores its
failure text as wrong.
"""

import math
from collections.abc import Sequence

from mmscore.core.estimates import compute_macro
from mmscore.core.recipe import Metrics, Row
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.choices import LEVELS, build_accuracy_table, build_choice_recipe
from mmscore.kits.vlmevalkit.rows import offer_for_names, require_column

SOURCE = "extra.source"
FLAT = "2D"


def _is_flat(scored: Scored) -> bool:
    return set(scored.column("split")) == {FLAT}


def _reduce(scored: Scored, version: str) -> Metrics:
    rows = scored.mean("accuracy")
    sources = [part.mean("accuracy") for _, part in scored.split(SOURCE)]
    return {"overall": compute_macro(sources) if _is_flat(scored) else rows, "accuracy": rows}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    """Lay out the framework's table.

    Raises:
        Error: A row of split 2D has no source.
    """
    if not _is_flat(scored):
        return build_accuracy_table(scored, "accuracy")
    require_column(scored, SOURCE)
    values = {source: rows.mean("accuracy").value for source, rows in scored.split(SOURCE)}
    return [{"split": FLAT, **values, "Overall": math.fsum(values.values()) / len(values)}]


RECIPE = build_choice_recipe(
    "CV-Bench as VLMEvalKit scores it: multiple choice, sources of 2D questions alike (exact matching)",
    offer_for_names("CV-Bench", frozenset(("CV-Bench-2D", "CV-Bench-3D"))),
    reduce=_reduce,
    table=_build_table,
    keep=("split", *LEVELS, SOURCE),
    groups=("split", *LEVELS, SOURCE),
)
