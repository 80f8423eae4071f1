"""DocVQA and InfoVQA as lmms-eval score them: ANLS, the nearest reference, below one half nothing.

Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/api/metrics.py:anls.
"""

from collections.abc import Mapping

from mmconvert.core.errors import RowError, show
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item, Recipe, parse_whole_response
from mmscore.kits.lmms_eval.rows import KIT, VERSIONS, is_task, list_references, score_first_response
from mmscore.nlp.relaxed_match import compute_anls_distance, compute_similarity


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    listed = list_references(item)
    if not listed:
        raise RowError("answer.missing", "answers", f"the row has no reference {show(listed)}. Give --answers.")
    return {"anls": compute_similarity(min(compute_anls_distance(str(one), item.prediction) for one in listed))}


def _default_for(facts: Facts) -> str | None:
    return "lmms-eval's log of DocVQA or InfoVQA" if is_task(facts, "docvqa", "infovqa") else None


RECIPE = Recipe(
    summary="DocVQA and InfoVQA as lmms-eval score them: ANLS",
    parity=KIT,
    versions=VERSIONS,
    columns=("answer", "answers", "label", "extra", "variant"),
    parse=parse_whole_response,
    metrics=score_first_response(_score_row),
    default_for=_default_for,
)
