"""ReForm-Eval's OCR questions: the reference as whole words in the response, ASCII letters and digits alone.

Parity: FudanDISC/ReForm-Eval@df1cfa7 metrics/ocropenended.py. Kept on purpose: several references are one
long phrase, and where nothing is left of the reference any word will do.
"""

from collections.abc import Mapping, Sequence

from mmconvert.core.errors import RowError, show
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, Recipe, Row, parse_whole_response, read_label
from mmscore.core.table import Scored
from mmscore.kits.reform_eval.rows import KIT, VERSIONS, build_log_table, is_from_kit
from mmscore.metrics.reform_word_match import match_ocr


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    label = read_label(item)
    reference = item.answers if label is None else [label] if isinstance(label, str) else label
    if not (isinstance(reference, Sequence) and all(isinstance(text, str) for text in reference)):
        raise RowError("answer.type", "label", f"expected a text or a list of texts {show(label)}.")
    return {"accuracy": float(match_ocr(item.prediction, reference))}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    return build_log_table("OCROpenEnded", {"accuracy": scored.mean("accuracy").value, "format_hit_rate": 1.0})


RECIPE = Recipe(
    summary="OCR questions as ReForm-Eval scores them: whole words in the response",
    parity=KIT,
    versions=VERSIONS,
    columns=("answers", "label"),
    parse=parse_whole_response,
    metrics=_score_row,
    table=_build_table,
    default_for=lambda facts: "OCR questions of ReForm-Eval" if is_from_kit(facts, "ocr") else None,
)
