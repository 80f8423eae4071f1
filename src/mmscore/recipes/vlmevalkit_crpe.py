"""CRPE as VLMEvalKit scores it: four rows one behind the other count together; accuracy by category.

A response of one character, or whose first is A to D, must begin as the reference does; any other must contain the
reference without its first four characters, in any case. A group is right when all its rows are, and belongs to the
category of its first wrong row, else of its last.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_vqa.py:CRPE.evaluate,
vlmeval/dataset/utils/crpe.py:is_correct. Not kept: a failed inference is no answer here and counts apart; the framework
scores its failure text as wrong.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from mmconvert.core.arrow import build_column
from mmconvert.core.errors import Error
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, Recipe, Row, parse_whole_response
from mmscore.core.table import CLUSTER, Scored
from mmscore.kits.vlmevalkit.rows import KIT, RESULTS, VERSIONS, offer_for_names, read_answer_cell
from mmscore.scoring.grouping import score_jointly

GROUP = 4
LABEL_LENGTH = 4
"""Characters before the text of a reference, such as `(A) `."""

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_vqa.py:CRPE.evaluate
CATEGORIES = ("exist", "subject", "predicate", "object")


def _score(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    reference, response = read_answer_cell(item), item.prediction
    if len(response) == 1 or response[:1] in tuple("ABCD"):
        return {"accuracy": float(response[0] == reference[:1])}
    return {"accuracy": float(bool(response) and reference[LABEL_LENGTH:].lower() in response.lower())}


def _score_groups(scored: Scored, version: str) -> Scored:
    """Add the score of each group at the row that gives it a category.

    Raises:
        Error: The number of rows is no multiple of four.
    """
    if len(scored) % GROUP:
        raise Error(f"{len(scored)} rows are no whole groups of {GROUP}. Give the whole file.")
    hits = scored.scores["accuracy"].tolist()
    joint = np.full(len(scored), math.nan)
    for start in range(0, len(scored), GROUP):
        rows = range(start, start + GROUP)
        head = next((n for n in rows if hits[n] == 0.0), rows[-1])
        joint[head] = score_jointly([hits[n] for n in rows])
    groups = build_column([n // GROUP for n in range(len(scored))], pa.int64())
    return scored.with_scores(group_accuracy=joint).with_array(CLUSTER, groups)


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    scored = scored.where(~np.isnan(scored.scores["group_accuracy"]))
    values = {name: rows.mean("group_accuracy").value for name, rows in scored.split("category")}
    total = scored.mean("group_accuracy").value if len(scored) else None
    return [{**{name: values.get(name) for name in CATEGORIES}, "total": total}]


RECIPE = Recipe(
    "CRPE as VLMEvalKit scores it: four rows count together, accuracy by category",
    KIT,
    VERSIONS,
    columns=("answer", "label"),
    parse=parse_whole_response,
    metrics=_score,
    settle=_score_groups,
    default_for=offer_for_names("CRPE", frozenset(("CRPE_EXIST", "CRPE_RELATION"))),
    table=_build_table,
    keep=("category",),
    groups=("category",),
    results=RESULTS,
)
