"""VQAv2 as lmms-eval scores it: how many of the other annotators gave the answer, three are enough.

The kit's log has one target a row; the ten references come from the dataset (`--answers`). Rows
without references score 0, as the kit's test split does.

Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/vqav2/utils.py:vqav2_process_results.
"""

from collections.abc import Mapping

from mmconvert.core.errors import RowError, got
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item, Recipe, whole_reply
from mmscore.kits.lmms_eval.rows import KIT, VERSIONS, annotations, is_task, of_first_reply
from mmscore.metrics.lmms_vqa import lmms_vqav2


def _metrics(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    listed = annotations(item)
    for one in listed:
        if not (isinstance(one, str) or (isinstance(one, dict) and "answer" in one)):
            raise RowError("answer.type", "label", f"expected texts or objects with `answer` {got(one)}.")
    return {"exact_match": lmms_vqav2(item.prediction, listed)}


def _default_for(facts: Facts) -> str | None:
    return "lmms-eval's log of VQAv2" if is_task(facts, "vqav2") else None


RECIPE = Recipe(
    summary="VQAv2 as lmms-eval scores it",
    parity=KIT,
    versions=VERSIONS,
    columns=("answer", "answers", "label", "extra", "variant"),
    parse=whole_reply,
    metrics=of_first_reply(_metrics),
    default_for=_default_for,
)
