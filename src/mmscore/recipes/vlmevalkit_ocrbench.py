"""OCRBench as VLMEvalKit scores it: a reference must be contained in the response.

`final_score` counts right answers (out of 1000 on the full benchmark), `final_score_norm` is a tenth
of it, `accuracy` their share.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_vqa.py:OCRBench.evaluate.
"""

from collections.abc import Mapping, Sequence

from mmconvert.core.text.literals import parse_list
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item, Metrics, Recipe, Row, parse_whole_response, read_label
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import KIT, RESULTS, VERSIONS, is_from_kit
from mmscore.metrics.vlmevalkit_ocrbench import build_scoreboard, vlmevalkit_ocrbench

OTHER_REPORT = "OCRBench_v2"


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    return {"accuracy": float(vlmevalkit_ocrbench(item.prediction, _read_references(item), item.category or ""))}


def _read_references(item: Item) -> Sequence[object]:
    """Read the answer cell, which must be a list; the references as columns where there is no cell.

    Raises:
        RowError: The cell is not a list.
    """
    if item.label is None:
        return item.answers or ([] if item.answer is None else [item.answer])
    label = read_label(item)
    return label if isinstance(label, list) else parse_list(label if isinstance(label, str) else item.label)


def _reduce(scored: Scored, version: str) -> Metrics:
    share = scored.mean("accuracy")
    return {
        "final_score": share.scale(share.n, "points"),
        "final_score_norm": share.scale(share.n / 10, "points"),
        "accuracy": share,
    }


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    hits = scored.scores["accuracy"].astype(bool).tolist()
    return [build_scoreboard((name or "", hit) for name, hit in zip(scored.column("category"), hits, strict=True))]


def _default_for(facts: Facts) -> str | None:
    if is_from_kit(facts, "OCRBench") and not any(OTHER_REPORT in name for name in facts.datasets):
        return "rows of OCRBench from a VLMEvalKit table"
    return None


RECIPE = Recipe(
    summary="OCRBench as VLMEvalKit scores it: contained references",
    parity=KIT,
    versions=VERSIONS,
    columns=("answer", "answers", "label", "category"),
    parse=parse_whole_response,
    metrics=_score_row,
    reduce=_reduce,
    table=_build_table,
    keep=("category",),
    groups=("category",),
    results=RESULTS,
    default_for=_default_for,
    additive=True,
)
