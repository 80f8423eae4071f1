"""ReForm-Eval's key information: the reference as whole words in the response, both rewritten as in VQA.

Parity: FudanDISC/ReForm-Eval@df1cfa7 metrics/kieopenended.py, run_loader_eval.py. The framework breaks off at a
list of references, and such a row is rejected here. It is no precision, recall or F1.
"""

from collections.abc import Mapping, Sequence

from mmconvert.core.errors import RowError, show
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item, Recipe, Row, parse_whole_response, read_label
from mmscore.core.table import Scored
from mmscore.kits.reform_eval.rows import KIT, VERSIONS, build_log_table, is_from_kit
from mmscore.metrics.reform_word_match import match_kie


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    label = item.answer if item.label is None else read_label(item)
    if not isinstance(label, str):
        raise RowError("answer.type", "label", f"the framework takes one text as reference {show(label)}. Give one.")
    return {"accuracy": float(match_kie(item.prediction, label))}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    return build_log_table("KIEOpenEnded", {"accuracy": scored.mean("accuracy").value, "format_hit_rate": 1.0})


def _default_for(facts: Facts) -> str | None:
    return "key information of ReForm-Eval" if is_from_kit(facts, "kie") else None


RECIPE = Recipe(
    summary="Key information as ReForm-Eval scores it: whole words in the response",
    parity=KIT,
    versions=VERSIONS,
    columns=("answer", "label"),
    parse=parse_whole_response,
    metrics=_score_row,
    table=_build_table,
    default_for=_default_for,
)
