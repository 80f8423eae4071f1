"""VQAv2 as lmms-eval scores it: how many of the other annotators gave the answer, three are enough.

The framework's log has one target a row; the ten references come from the dataset (`--answers`). Rows
without references score 0, as the framework's test split does.

Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/vqav2/utils.py:vqav2_process_results.
"""

from collections.abc import Mapping

from mmconvert.core.errors import RowError, show
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, parse_whole_response, read_label
from mmscore.kits.lmms_eval.rows import REWRITTEN, build_text_recipe, list_annotations, list_references, offer_for
from mmscore.metrics.lmms_vqa import lmms_vqav2, normalize_vqav2_answer


def _parse(item: Item, version: str) -> Parsed:
    """Read the answer as the framework submits it: rewritten for comparison if there is a reference."""
    if read_label(item) is None and not list_references(item):
        return parse_whole_response(item, version)
    return Parsed(normalize_vqav2_answer(item.prediction), REWRITTEN)


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    listed = list_annotations(item)
    for one in listed:
        if not (isinstance(one, str) or (isinstance(one, dict) and "answer" in one)):
            raise RowError("answer.type", "label", f"expected texts or objects with `answer` {show(one)}.")
    return {"exact_match": lmms_vqav2(item.prediction, listed)}


RECIPE = build_text_recipe(
    "VQAv2 as lmms-eval scores it", _score_row, offer_for("VQAv2", "vqav2_val", "vqav2_val_lite"), _parse
)
