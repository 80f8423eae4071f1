"""A4Bench as VLMEvalKit reports it: the response is a Python list of letters, in any order those of the reference.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_mcq.py:AffordanceDataset.evaluate, is_match. Kept on
purpose: a text in quotes is the list of its characters; a letter given twice counts twice; a judge is not asked. Not
kept: a response that is no such list, at which the framework stops, or that is longer than 10,000 characters, is
wrong; a failed inference is no answer here and counts apart.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mmconvert.core.errors import RowError, show
from mmconvert.core.text.literals import parse_short_literal
from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.core.recipe import Item, Recipe, Row
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import KIT, RESULTS, VERSIONS, offer_for_names, read_answer_cell


def _parse(item: Item, version: str) -> Parsed:
    found = _read_list(item.prediction)
    return UNPARSED if found is None else Parsed(", ".join(map(str, found)), "list")


def _score(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    reference = _read_list(read_answer_cell(item))
    if reference is None:
        message = f"expected a list of letters such as ['A', 'B'] {show(item.label)}. Keep the framework's column."
        raise RowError("answer.list", "answer", message)
    return {"accuracy": float(_read_list(item.prediction) == reference)}


def _read_list(text: str) -> list[Any] | None:
    """Read a Python literal and sort its elements; None where it has none, or such as have no order."""
    try:
        return sorted(parse_short_literal(text))
    except (RowError, TypeError):
        return None


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    return [{"Accuracy": scored.mean("accuracy").value}]


RECIPE = Recipe(
    "A4Bench as VLMEvalKit scores it: lists of letters, in any order",
    KIT,
    VERSIONS,
    columns=("answer", "label"),
    parse=_parse,
    metrics=_score,
    default_for=offer_for_names("A4Bench", frozenset(("A4Bench",))),
    table=_build_table,
    results=RESULTS,
)
