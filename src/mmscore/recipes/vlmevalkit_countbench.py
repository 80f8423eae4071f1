"""CountBenchQA as VLMEvalKit scores it: the reference is in the response, in percent.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_vqa.py:CountBenchQA.evaluate. Kept on purpose: a
reference counts inside a longer number too, 3 in 13. Not kept: a failed inference counts apart, the framework scores
its failure text.
"""

from collections.abc import Mapping, Sequence

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, Recipe, Row, average_scores, parse_whole_response
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import RESULTS, VERSIONS, offer_for_names, read_answer_cell


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    return {"accuracy": float(read_answer_cell(item) in item.prediction)}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    return [{"accuracy": scored.mean("accuracy").value * 100}]


RECIPE = Recipe(
    summary="CountBenchQA as VLMEvalKit scores it: references contained in responses",
    parity="VLMEvalKit",
    versions=VERSIONS,
    columns=("answer", "label"),
    parse=parse_whole_response,
    metrics=_score_row,
    reduce=average_scores("percent", scale=100),
    table=_build_table,
    results=RESULTS,
    default_for=offer_for_names("CountBenchQA", frozenset(("CountBenchQA",))),
)
