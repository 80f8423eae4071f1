"""DocVQA and InfoVQA as lmms-eval score them: ANLS, the nearest reference, below one half nothing.

Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/api/metrics.py:anls.
"""

from collections.abc import Mapping

from mmconvert.core.errors import RowError, got
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item, Recipe, whole_reply
from mmscore.kits.lmms_eval.rows import KIT, VERSIONS, is_task, of_first_reply, references
from mmscore.nlp.relaxed_match import anls_distance, similarity


def _metrics(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    listed = references(item)
    if not listed:
        raise RowError("answer.missing", "answers", f"the row has no reference {got(listed)}. Give --answers.")
    return {"anls": similarity(min(anls_distance(str(one), item.prediction) for one in listed))}


def _default_for(facts: Facts) -> str | None:
    return "lmms-eval's log of DocVQA or InfoVQA" if is_task(facts, "docvqa", "infovqa") else None


RECIPE = Recipe(
    summary="DocVQA and InfoVQA as lmms-eval score them: ANLS",
    parity=KIT,
    versions=VERSIONS,
    columns=("answer", "answers", "label", "extra", "variant"),
    parse=whole_reply,
    metrics=of_first_reply(_metrics),
    default_for=_default_for,
)
