"""ReForm-Eval's key information: the reference as whole words in the reply, both rewritten as in VQA.

Parity: FudanDISC/ReForm-Eval@df1cfa7 metrics/kieopenended.py, run_loader_eval.py. The kit breaks off at a
list of references, and such a row is refused here. It is no precision, recall or F1.
"""

from collections.abc import Mapping, Sequence

from mmconvert.core.errors import RowError, got
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item, Recipe, Row, read_label, whole_reply
from mmscore.core.table import Scored
from mmscore.kits.reform_eval.rows import KIT, VERSIONS, is_from_kit, log_table
from mmscore.metrics.reform_word_match import reform_kie


def _metrics(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    label = item.answer if item.label is None else read_label(item)
    if not isinstance(label, str):
        raise RowError("answer.type", "label", f"the kit takes one text as reference {got(label)}. Give one.")
    return {"accuracy": float(reform_kie(item.prediction, [label]))}


def _table(scored: Scored, version: str) -> Sequence[Row]:
    return log_table("KIEOpenEnded", {"accuracy": scored.mean("accuracy").value, "format_hit_rate": 1.0})


def _default_for(facts: Facts) -> str | None:
    return "key information of ReForm-Eval" if is_from_kit(facts, "kie") else None


RECIPE = Recipe(
    summary="Key information as ReForm-Eval scores it: whole words in the reply",
    parity=KIT,
    versions=VERSIONS,
    columns=("answer", "label"),
    parse=whole_reply,
    metrics=_metrics,
    table=_table,
    default_for=_default_for,
)
