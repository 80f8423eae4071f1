"""TextVQA as lmms-eval scores it: how many of the other annotators gave the answer, three are enough.

The kit's log has one target a row; the ten references come from the dataset (`--answers`). Rows
without references score 0, as the kit's test split does.

Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/textvqa/utils.py:textvqa_process_results.
"""

from collections.abc import Mapping

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item, Recipe
from mmscore.kits.lmms_eval.rows import KIT, REWRITTEN, VERSIONS, is_task, list_annotations, score_first_response
from mmscore.metrics.lmms_vqa import lmms_vqa, normalize_evalai_answer


def _parse(item: Item, version: str) -> Parsed:
    """Read the answer as the kit hands it in: rewritten as it is compared."""
    return Parsed(normalize_evalai_answer(item.prediction), REWRITTEN)


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    return {"exact_match": lmms_vqa(item.prediction, list(map(str, list_annotations(item))))}


def _default_for(facts: Facts) -> str | None:
    return "lmms-eval's log of TextVQA" if is_task(facts, "textvqa") else None


RECIPE = Recipe(
    summary="TextVQA as lmms-eval scores it",
    parity=KIT,
    versions=VERSIONS,
    columns=("answer", "answers", "label", "extra", "variant"),
    parse=_parse,
    metrics=score_first_response(_score_row),
    default_for=_default_for,
)
