"""NaturalBench as VLMEvalKit scores it: two questions about two images, right by row, question, image and group.

Rows count by fours in order of their index: question 0 on both images, then question 1 on both. The first word `yes` or
`no` of a response decides, of multiple choice the first `A` or `B`, in any case; right are yes, no, no, yes (A, B, B,
A), whatever the column `answer` says. A question is right when both its rows are, an image alike, a group when all are.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_mcq.py:NaturalBenchDataset.evaluate,
vlmeval/dataset/utils/naturalbench.py:extract_answer, get_scores. Not kept: the framework needs all 1,900 groups of the
benchmark; here any number of whole groups is scored. A failed inference is no answer here and counts apart.
"""

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from mmconvert.core.arrow import build_column
from mmconvert.core.errors import Error, RowError, show
from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.core.recipe import Item, Recipe, Row
from mmscore.core.table import CLUSTER, Scored
from mmscore.kits.vlmevalkit.rows import KIT, RESULTS, VERSIONS, offer_for_names, read_other_cells, require_cell
from mmscore.scoring.grouping import score_jointly

TYPE = "type"
WORDS = {"yes_no": ("yes", "no"), "multiple_choice": ("A", "B")}
PATTERNS = {kind: [(word, re.compile(rf"(?i)\b{word}\b")) for word in words] for kind, words in WORDS.items()}
RIGHT = (("yes", "A"), ("no", "B"), ("no", "B"), ("yes", "A"))
GROUP = len(RIGHT)
MEMBERS: Mapping[str, Mapping[int, Sequence[int]]] = {
    "question_accuracy": {0: (0, 1), 2: (2, 3)},
    "image_accuracy": {0: (0, 2), 1: (1, 3)},
    "group_accuracy": {0: (0, 1, 2, 3)},
}
"""Score -> row of a group at which it stands -> rows that must be right."""

LABELS = {"Q_Acc": "question_accuracy", "I_Acc": "image_accuracy", "Acc": "accuracy", "G_Acc": "group_accuracy"}


def _parse(item: Item, version: str) -> Parsed:
    kind = require_cell(read_other_cells(item), TYPE)
    if kind not in WORDS:
        message = f"expected yes_no or multiple_choice {show(kind)}. Keep the framework's column."
        raise RowError("extra.type", f"extra.{TYPE}", message)
    found = [(match.span(), word) for word, pattern in PATTERNS[kind] if (match := pattern.search(item.prediction))]
    if not found:
        return UNPARSED
    span, word = min(found)
    return Parsed(word, "first word", span)


def _score(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    """Score a row as wrong until its place in its group is known."""
    return {"accuracy": 0.0}


def _score_groups(scored: Scored, version: str) -> Scored:
    """Score rows by their place in their group, and groups.

    Raises:
        Error: The number of rows is no multiple of four, or a row has no index.
    """
    ids = scored.column("id")
    if len(ids) % GROUP or None in ids:
        raise Error(f"{len(ids)} rows are no whole groups of {GROUP} with an index each. Give the whole file.")
    order = sorted(range(len(ids)), key=lambda n: (int(ids[n]), "") if ids[n].isdecimal() else (-1, ids[n]))
    values, before = scored.column("value"), scored.scores["accuracy"].tolist()
    scores = {name: np.full(len(scored), math.nan) for name in ("accuracy", *MEMBERS)}
    groups = np.zeros(len(scored), np.int64)
    for start in range(0, len(order), GROUP):
        rows = order[start : start + GROUP]
        groups[rows] = start
        hits = [
            math.nan if math.isnan(before[n]) else float(values[n] in right)
            for n, right in zip(rows, RIGHT, strict=True)
        ]
        scores["accuracy"][rows] = hits
        for name, heads in MEMBERS.items():
            for head, members in heads.items():
                scores[name][rows[head]] = score_jointly([hits[member] for member in members])
    return scored.with_scores(**scores).with_array(CLUSTER, build_column(groups.tolist(), pa.int64()))


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    return [{label: scored.mean(name).value for label, name in LABELS.items()}]


RECIPE = Recipe(
    "NaturalBench as VLMEvalKit scores it: accuracy by row, question, image and group",
    KIT,
    VERSIONS,
    columns=("extra",),
    parse=_parse,
    metrics=_score,
    settle=_score_groups,
    default_for=offer_for_names("NaturalBench", frozenset(("NaturalBenchDataset",))),
    table=_build_table,
    keep=(f"extra.{TYPE}",),
    groups=(f"extra.{TYPE}",),
    results=RESULTS,
)
