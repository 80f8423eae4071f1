"""TallyQA as VLMEvalKit scores it: the first number from 0 to 20 in the response, as digits or an English word.

The share of right answers is a fraction.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_vqa.py:TallyQA.evaluate. Not kept: a failed inference
counts apart, the framework scores its failure text; of a TSV whose responses are all numbers it takes those below 0 and
above 20 for no answer, here they are read as any response.
"""

from collections.abc import Mapping, Sequence

from mmconvert.core.errors import RowError, show
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, Recipe, Row
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import RESULTS, VERSIONS, offer_for_names, read_answer_cell
from mmscore.parsers.vlmevalkit_count import vlmevalkit_count


def _parse(item: Item, version: str) -> Parsed:
    return vlmevalkit_count(item.prediction)


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    return {"accuracy": float(parsed.value == str(_read_count(read_answer_cell(item))))}


def _read_count(cell: str) -> int:
    """Read a whole number; of one with a point, as pandas gives where a cell is empty, the whole part.

    Raises:
        RowError: The cell is no number.
    """
    try:
        return int(float(cell))
    except (ValueError, OverflowError):
        raise RowError("answer.type", "answer", f"expected a whole number {show(cell)}.") from None


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    return [{"TallyQA": scored.mean("accuracy").value}]


RECIPE = Recipe(
    summary="TallyQA as VLMEvalKit scores it: the first number from 0 to 20",
    parity="VLMEvalKit",
    versions=VERSIONS,
    columns=("answer", "label"),
    parse=_parse,
    metrics=_score_row,
    table=_build_table,
    results=RESULTS,
    default_for=offer_for_names("TallyQA", frozenset(("TallyQA",))),
)
