"""DocVQA, InfoVQA and IconQA as lmms-eval score them: ANLS, the nearest reference, below one half nothing.

Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/api/metrics.py:anls.
"""

from collections.abc import Mapping

from mmconvert.core.errors import RowError, show
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item
from mmscore.kits.lmms_eval.rows import build_text_recipe, list_references, offer_for
from mmscore.nlp.relaxed_match import compute_anls_distance, compute_similarity


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    listed = list_references(item)
    if not listed:
        raise RowError("answer.missing", "answers", f"the row has no reference {show(listed)}. Give --answers.")
    return {"anls": compute_similarity(min(compute_anls_distance(str(one), item.prediction) for one in listed))}


TASKS = ("docvqa_val", "docvqa_val_lite", "infovqa_val", "infovqa_val_lite", "iconqa_val", "iconqa_test", "iconqa")

RECIPE = build_text_recipe(
    "DocVQA, InfoVQA and IconQA as lmms-eval score them: ANLS",
    _score_row,
    offer_for("DocVQA, InfoVQA or IconQA", *TASKS),
)
