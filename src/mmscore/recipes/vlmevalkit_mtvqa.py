"""MTVQA as VLMEvalKit scores it: the reference is in the response but for case and points, by language.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_vqa.py:MTVQADataset.evaluate. Not kept: the framework
refuses a table with another split than `test`; a failed inference counts apart, the framework scores its failure text.
"""

from collections.abc import Mapping, Sequence

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, Recipe, Row, average_scores, parse_whole_response
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import RESULTS, VERSIONS, offer_for_names, read_answer_cell, split_cells

AVERAGE = "Average"


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    return {"accuracy": float(_simplify(read_answer_cell(item)) in _simplify(item.prediction))}


def _simplify(text: str) -> str:
    return text.strip().lower().replace(".", "")


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    parts = [*split_cells(scored, "category"), (AVERAGE, scored)]
    return [{name: rows.mean("accuracy").value * 100 for name, rows in parts}]


RECIPE = Recipe(
    summary="MTVQA as VLMEvalKit scores it: references contained in responses, by language",
    parity="VLMEvalKit",
    versions=VERSIONS,
    columns=("answer", "label"),
    parse=parse_whole_response,
    metrics=_score_row,
    reduce=average_scores("percent", scale=100),
    table=_build_table,
    keep=("category",),
    groups=("category",),
    results=RESULTS,
    default_for=offer_for_names("MTVQA", frozenset(("MTVQA_TEST",))),
)
