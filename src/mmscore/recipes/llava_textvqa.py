"""TextVQA as LLaVA scores its answers: how many of the ten annotators, the one compared with left out, agree.

Three others are enough. Texts are rewritten as EvalAI does.

Parity: haotian-liu/LLaVA@c121f04 llava/eval/eval_textvqa.py, llava/eval/m4c_evaluator.py:TextVQAAccuracyEvaluator.
"""

from collections.abc import Mapping

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, NoReferenceError, Recipe
from mmscore.kits.llava.answers import VERSIONS, offer_for
from mmscore.metrics.lmms_vqa import lmms_vqa, normalize_evalai_answer


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    if not item.answers:
        raise NoReferenceError("answers")
    return {"accuracy": lmms_vqa(item.prediction, item.answers)}


RECIPE = Recipe(
    summary="TextVQA as LLaVA's eval_textvqa.py scores answers",
    parity="LLaVA eval_textvqa.py",
    versions=VERSIONS,
    columns=("answers",),
    parse=lambda item, version: Parsed(normalize_evalai_answer(item.prediction), "rewritten response"),
    metrics=_score_row,
    default_for=offer_for("TextVQA", "textvqa"),
)
