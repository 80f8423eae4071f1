"""ChartQAPro as VLMEvalKit scores it: numbers within 5 %, years equal, texts by ANLS, lists element by element.

A line for each type of question, and one for all; a conversation's last answer counts. Answers with reasoning or
code (`_CoT`, `_PoT`) are scored by the same rule, the whole response as the answer.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/chartqapro.py:ChartQAPro.evaluate,
vlmeval/dataset/utils/chartqapro.py:evaluate_predictions_chartqapro. Kept on purpose: fact checks and multiple choice
are scored by margin and ANLS too; the table's columns are called 0 and 1. Not kept: a failed inference counts apart,
the framework scores its failure text.
"""

from collections.abc import Mapping, Sequence

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, Recipe, Row
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import (
    RESULTS,
    VERSIONS,
    offer_for_names,
    read_answer_cell,
    read_other_cells,
    require_cell,
    split_cells,
)
from mmscore.metrics.vlmevalkit_chartqapro import read_texts, read_year_flags, vlmevalkit_chartqapro

TYPE = "extra.question_type"
CONVERSATION = "Conversational"
OVERALL = "Overall"


def _parse(item: Item, version: str) -> Parsed:
    return Parsed(_trim(item.prediction), "whole response")


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    cells = read_other_cells(item)
    reference = read_texts(read_answer_cell(item), "answer")[-1]
    years = read_year_flags(require_cell(cells, "year"))
    if cells.get("question_type") == CONVERSATION:
        years = years[-1:]
    return {"relaxed_accuracy": vlmevalkit_chartqapro(parsed.value or "", _trim(reference), years)}


def _trim(text: str) -> str:
    return text.strip(".").strip("\n")


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    parts = [*split_cells(scored, TYPE), (OVERALL, scored)]
    return [{"0": name, "1": rows.mean("relaxed_accuracy").value} for name, rows in parts]


RECIPE = Recipe(
    summary="ChartQAPro as VLMEvalKit scores it: 5 % margin, ANLS, years exactly",
    parity="VLMEvalKit",
    versions=VERSIONS,
    columns=("answer", "label", "extra"),
    parse=_parse,
    metrics=_score_row,
    table=_build_table,
    keep=(TYPE,),
    groups=(TYPE,),
    results=RESULTS,
    default_for=offer_for_names("ChartQAPro", frozenset(("ChartQAPro", "ChartQAPro_CoT", "ChartQAPro_PoT"))),
)
