"""ERQA as VLMEvalKit scores it: the whole response is the reference, case and outer blanks ignored.

A line for all questions and one for each category, in percent.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/erqa.py:ERQADataset.evaluate. Kept on purpose: `B.` and
`The answer is B` are wrong where `B` is right. Not kept: the framework breaks off at a row without category, which
counts in Overall alone; a failed inference counts apart, the framework scores its failure text.
"""

from collections.abc import Mapping, Sequence

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, Recipe, Row, average_scores, parse_whole_response
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import RESULTS, VERSIONS, offer_for_names, read_answer_cell

OVERALL = "Overall"


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    said, wanted = (text.strip().lower() for text in (item.prediction, read_answer_cell(item)))
    return {"accuracy": float(said == wanted)}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    parts = [(OVERALL, scored), *sorted(scored.split("category"), key=lambda part: part[0])]
    return [
        {"Category": name, "Accuracy (%)": rows.mean("accuracy").value * 100, "Samples": len(rows)}
        for name, rows in parts
    ]


RECIPE = Recipe(
    summary="ERQA as VLMEvalKit scores it: responses that equal the reference",
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
    default_for=offer_for_names("ERQA", frozenset(("ERQA",))),
)
