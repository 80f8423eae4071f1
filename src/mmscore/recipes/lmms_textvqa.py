"""TextVQA as lmms-eval scores it: how many of the other annotators gave the answer, three are enough.

The framework's log has one target a row; the ten references come from the dataset (`--answers`). Rows
without references score 0, as the framework's test split does.

Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/textvqa/utils.py:textvqa_process_results.
"""

from collections.abc import Mapping

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item
from mmscore.kits.lmms_eval.rows import REWRITTEN, build_text_recipe, list_annotations, offer_for
from mmscore.metrics.lmms_vqa import lmms_vqa, normalize_evalai_answer


def _parse(item: Item, version: str) -> Parsed:
    """Read the answer as the framework hands it in: rewritten as it is compared."""
    return Parsed(normalize_evalai_answer(item.prediction), REWRITTEN)


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    return {"exact_match": lmms_vqa(item.prediction, list(map(str, list_annotations(item))))}


RECIPE = build_text_recipe(
    "TextVQA as lmms-eval scores it", _score_row, offer_for("TextVQA", "textvqa_val", "textvqa_val_lite"), _parse
)
