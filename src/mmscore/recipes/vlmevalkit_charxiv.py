"""CharXiv as VLMEvalKit reports it: a judge's grades, 0 or 1, over all questions and by kind of question.

Without a judge no row has a score. Which column says the kind depends on the benchmark: of descriptive questions `qid`,
of reasoning questions `inst_category`.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/charxiv.py:CharXiv.evaluate, qid2category. Not kept: a response
of the judge that cannot be read is no score here, the framework counts it as 0; nor does scoring stop at an empty
response, as the framework does.
"""

import math
from collections.abc import Mapping, Sequence

from mmconvert.core.errors import Error, show
from mmscore.core.parsed import UNPARSED
from mmscore.core.recipe import Recipe, Row
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import JUDGED_KIT, RESULTS, VERSIONS, offer_for_names, require_column

QID, INSTRUCTION = "extra.qid", "extra.inst_category"

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/charxiv.py:qid2category
DESCRIPTIVE = {
    **dict.fromkeys(range(1, 8), "Information Extraction"),
    **dict.fromkeys((8, 9, 13, 14, 15), "Enumeration"),
    **dict.fromkeys((10, 12, 19), "Counting"),
    **dict.fromkeys((11, 16, 18), "Pattern Recognition"),
    17: "Compositionality",
}
REASONING = {1: "Text-in-Chart", 2: "Text-in-General", 3: "Number-in-Chart", 4: "Number-in-General"}
KINDS: Mapping[str, tuple[str, Mapping[int, str]]] = {
    "CharXiv_descriptive_val": (QID, DESCRIPTIVE),
    "CharXiv_reasoning_val": (INSTRUCTION, REASONING),
}
"""Benchmark -> the column that says the kind of a question, and the kinds by their numbers."""


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    """Lay out the framework's table, one line a benchmark.

    Raises:
        Error: A row lacks the number of its kind, or has one that names no kind.
    """
    return [_build_line(part, *KINDS[name]) for name, part in scored.split("dataset") if name in KINDS]


def _build_line(scored: Scored, column: str, kinds: Mapping[int, str]) -> Row:
    scores: dict[str, list[float]] = {}
    for cell, score in zip(require_column(scored, column), scored.scores["score"].tolist(), strict=True):
        scores.setdefault(_name_kind(cell, column, kinds), []).append(score)
    line = {kind: math.fsum(values) / len(values) for kind, values in scores.items()}
    return line | {"Overall": scored.mean("score").value}


def _name_kind(cell: str, column: str, kinds: Mapping[int, str]) -> str:
    try:
        return kinds[int(float(cell))]
    except (ValueError, OverflowError, KeyError):
        raise Error(f"{column}: expected a number from 1 to {len(kinds)} {show(cell)}.") from None


RECIPE = Recipe(
    summary="CharXiv as VLMEvalKit scores it: a judge's grades by kind of question",
    parity=JUDGED_KIT,
    versions=VERSIONS,
    columns=("question", "extra"),
    parse=lambda item, version: UNPARSED,
    metrics=lambda item, parsed, version: {},
    table=_build_table,
    keep=("dataset", QID, INSTRUCTION),
    groups=(QID, INSTRUCTION),
    results=RESULTS,
    default_for=offer_for_names("CharXiv", frozenset(KINDS)),
    judges=("vlmevalkit_charxiv",),
    needs_judge=True,
)
