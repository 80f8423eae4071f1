"""OCRBench as lmms-eval scores it: a reference contained in the response, summed and divided by 1000.

Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/ocrbench/utils.py. Kept on purpose:
`ocrbench_accuracy` divides by 1000 however many questions there are; `accuracy` is their share.
"""

from collections.abc import Mapping
from typing import Any

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, Metrics, Recipe, parse_whole_response, read_label
from mmscore.core.table import Scored
from mmscore.kits.lmms_eval.rows import KIT, VERSIONS, gather_details, list_references, offer_for, score_first_response
from mmscore.metrics.lmms_ocrbench import FORMULAS, lmms_ocrbench

QUESTIONS = 1000
FORMULA_TYPE = "Handwritten Mathematical Expression Recognition"
"""Question type of `FORMULAS`, for rows that do not name the source."""


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    known = gather_details(item.extra)
    formula = known.get("dataset") == FORMULAS or FORMULA_TYPE in (item.category, known.get("question_type"))
    # The log writes a list of references as one text, and beside it as the list that was compared with.
    references = known.get("ground_truth", _read_references(item))
    return {"accuracy": float(lmms_ocrbench(item.prediction, references, formula=formula))}


def _read_references(item: Item) -> Any:
    label = read_label(item)
    return list_references(item) if label is None else label


def _reduce(scored: Scored, version: str) -> Metrics:
    share = scored.mean("accuracy")
    return {"ocrbench_accuracy": share.scale(share.n / QUESTIONS, "fraction"), "accuracy": share}


RECIPE = Recipe(
    summary="OCRBench as lmms-eval scores it: contained references",
    parity=KIT,
    versions=VERSIONS,
    columns=("answer", "answers", "label", "category", "extra", "variant"),
    parse=parse_whole_response,
    metrics=score_first_response(_score_row),
    reduce=_reduce,
    groups=("category",),
    default_for=offer_for("OCRBench", "ocrbench"),
    additive=True,
)
