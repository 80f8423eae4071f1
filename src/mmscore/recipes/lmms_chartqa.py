"""ChartQA as lmms-eval scores it: within 5 % as numbers, else the same text but for case.

`relaxed_human_split` and `relaxed_augmented_split` are the rows whose `type` (in `extra`, or told by
the log's own score) is `human_test` and the others.

Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/chartqa/utils.py:chartqa_process_results.
"""

from collections.abc import Mapping

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item
from mmscore.kits.lmms_eval.rows import build_text_recipe, gather_details, offer_for, read_reference
from mmscore.nlp.relaxed_match import is_relaxed_match

HUMAN = "human_test"
SPLITS = ("relaxed_augmented_split", "relaxed_human_split")


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    right = float(is_relaxed_match(read_reference(item), item.prediction))
    known = gather_details(item.extra)
    human = known["type"] == HUMAN if "type" in known else SPLITS[1] in known
    return {"relaxed_overall": right, SPLITS[human]: right}


RECIPE = build_text_recipe(
    "ChartQA as lmms-eval scores it: 5 % margin", _score_row, offer_for("ChartQA", "chartqa", "chartqa_lite")
)
