"""ZEROBench as VLMEvalKit scores it: the reference is in the last braces of the response, case ignored.

A response without braces is wrong. The share of right answers is a fraction.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_vqa.py:ZEROBench.evaluate. Kept on purpose: a reference
counts inside a longer answer too, 3 in 13. Not kept: a failed inference counts apart, the framework scores its failure
text.
"""

from collections.abc import Mapping, Sequence

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, Recipe, Row
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import RESULTS, VERSIONS, offer_for_names, read_answer_cell
from mmscore.parsers.vlmevalkit_braces import vlmevalkit_braces


def _parse(item: Item, version: str) -> Parsed:
    return vlmevalkit_braces(item.prediction)


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    said = (parsed.value or "").lower()
    return {"accuracy": float(read_answer_cell(item).strip().lower() in said)}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    return [{"accuracy": scored.mean("accuracy").value}]


RECIPE = Recipe(
    summary="ZEROBench as VLMEvalKit scores it: references contained in the last braces",
    parity="VLMEvalKit",
    versions=VERSIONS,
    columns=("answer", "label"),
    parse=_parse,
    metrics=_score_row,
    table=_build_table,
    results=RESULTS,
    default_for=offer_for_names("ZEROBench", frozenset(("ZEROBench", "ZEROBench_sub"))),
)
