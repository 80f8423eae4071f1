"""OCRBench as lmms-eval scores it: a reference contained in the reply, summed and divided by 1000.

Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/ocrbench/utils.py. Kept on purpose:
`ocrbench_accuracy` divides by 1000 however many questions there are; `accuracy` is their share.
"""

from collections.abc import Mapping

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item, Metrics, Recipe, whole_reply
from mmscore.core.table import Scored
from mmscore.kits.lmms_eval.rows import KIT, VERSIONS, details, is_task, of_first_reply, references
from mmscore.metrics.lmms_ocrbench import FORMULAS, lmms_ocrbench

QUESTIONS = 1000
FORMULA_TYPE = "Handwritten Mathematical Expression Recognition"
"""Question type of `FORMULAS`, for rows that do not name the source."""


def _metrics(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    known = details(item.extra)
    formula = known.get("dataset") == FORMULAS or FORMULA_TYPE in (item.category, known.get("question_type"))
    return {"accuracy": float(lmms_ocrbench(item.prediction, references(item), formula=formula))}


def _reduce(scored: Scored, version: str) -> Metrics:
    share = scored.mean("accuracy")
    return {"ocrbench_accuracy": share.scaled(share.n / QUESTIONS, "fraction"), "accuracy": share}


def _default_for(facts: Facts) -> str | None:
    known = is_task(facts, "ocrbench") and not is_task(facts, "ocrbench_v2")
    return "lmms-eval's log of OCRBench" if known else None


RECIPE = Recipe(
    summary="OCRBench as lmms-eval scores it: contained references",
    parity=KIT,
    versions=VERSIONS,
    columns=("answer", "answers", "label", "category", "extra", "variant"),
    parse=whole_reply,
    metrics=of_first_reply(_metrics),
    reduce=_reduce,
    groups=("category",),
    default_for=_default_for,
    additive=True,
)
