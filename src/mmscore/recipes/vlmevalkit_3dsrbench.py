"""3DSRBench as VLMEvalKit reports it: multiple choice, by row and jointly over mirrored and rotated questions.

A `qid` names a question by its first eight characters; `-flip` behind them marks the mirrored image, and a number at
the end a rotation of the options. The table has a line for each way to count: `vanilla` every row by itself,
`flip_eval` an image with its mirror, `circ_eval` the rotations of one image, `flip_circ_eval` all rows of a question.
What counts jointly is right when all its rows are, and stands at the row that is neither mirrored nor rotated (for
`circ_eval`: not rotated).

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_mcq.py:_3DSRBench.evaluate (with `exact_matching`). Kept
on purpose: a mirror or rotation whose first row is not in the file is refused, as the framework stops there. Not kept:
a failed inference is no answer here and counts apart; the framework scores its failure text as wrong.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from mmconvert.core.arrow import build_column
from mmconvert.core.errors import Error, show
from mmscore.core.recipe import Row
from mmscore.core.table import CLUSTER, MISSING, REJECTED, Scored
from mmscore.kits.vlmevalkit.choices import LEVELS, build_accuracy_table, build_choice_recipe
from mmscore.kits.vlmevalkit.rows import offer_for_names
from mmscore.scoring.grouping import score_jointly

QUESTION = "extra.qid"
FLIP = "-flip"
NAME = 8
"""Characters of a question's name."""

HEADS: Mapping[str, Callable[[str], str]] = {
    "flip_accuracy": lambda qid: qid.replace(FLIP, ""),
    "circular_accuracy": lambda qid: qid[: NAME + len(FLIP)] if FLIP in qid else qid[:NAME],
    "flip_circular_accuracy": lambda qid: qid[:NAME],
}
"""Score -> the qid of the row at which a row counts."""

SETTINGS = {
    "vanilla": "accuracy",
    "flip_eval": "flip_accuracy",
    "circ_eval": "circular_accuracy",
    "flip_circ_eval": "flip_circular_accuracy",
}


def _score_groups(scored: Scored, version: str) -> Scored:
    """Add the joint scores, each at the first row of its group.

    Raises:
        Error: A row has no qid, or the row at which it counts is not in the file.
    """
    qids = [_read_qid(*row) for row in zip(scored.column(QUESTION), scored.column("status"), strict=True)]
    hits = scored.scores["accuracy"].tolist()
    joint = {name: _score_heads(qids, hits, find_head) for name, find_head in HEADS.items()}
    names = build_column([qid and qid[:NAME] for qid in qids], pa.string())
    return scored.with_scores(**joint).with_array(CLUSTER, names.dictionary_encode().indices.cast(pa.int64()))


def _read_qid(qid: str | None, status: str) -> str | None:
    if qid is None and status not in (MISSING, REJECTED):
        raise Error(f"{QUESTION}: a row has none. Keep the column `qid` of the framework's table.")
    return qid


def _score_heads(
    qids: Sequence[str | None], hits: Sequence[float], find_head: Callable[[str], str]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    members: dict[str, list[float]] = {}
    for qid, hit in zip(qids, hits, strict=True):
        if qid is not None:
            members.setdefault(find_head(qid), []).append(hit)
    if absent := members.keys() - set(qids):
        raise Error(f"{QUESTION}: no row is the first of its question {show(min(absent))}. Give the whole file.")
    right = {head: score_jointly(values) for head, values in members.items()}
    return np.array([math.nan if qid is None else right.get(qid, math.nan) for qid in qids])


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    lines = []
    for setting, score in SETTINGS.items():
        for line in build_accuracy_table(scored, score):
            lines.append({"setting": setting, **{name: value for name, value in line.items() if name != "split"}})
    columns = dict.fromkeys(name for line in lines for name in line)
    return [{name: line.get(name, math.nan) for name in columns} for line in lines]


RECIPE = build_choice_recipe(
    "3DSRBench as VLMEvalKit scores it: by row, with mirrors, with rotations (exact matching)",
    offer_for_names("3DSRBench", frozenset(("3DSRBench",))),
    settle=_score_groups,
    table=_build_table,
    keep=("split", *LEVELS, QUESTION),
)
