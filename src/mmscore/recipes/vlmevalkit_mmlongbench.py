"""MMLongBench-Doc as VLMEvalKit reports it: answers that a judge extracts, graded by their format, as accuracy and F1.

Without a judge no row has a score. F1 joins the mean score of questions that can be answered with that of answers that
say something other than `Not answerable`. The table breaks the accuracy down by where the evidence stands, of what kind
and on how many pages.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/mmlongbenchdoc.py:MMLongBench_acc, eval_score, get_f1. Not
kept: an answer that the judge does not extract has no score here; the framework compares an empty one, and gives no
report at all where nothing is right, no question can be answered, or no response says anything, where F1 is 0 here.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress

from mmconvert.core.errors import Error, RowError
from mmconvert.core.text.literals import parse_list
from mmscore.core.estimates import Estimate
from mmscore.core.judge import JUDGED
from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.core.recipe import Item, Metrics, Recipe, Row
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.mmlongbench import NOT_ANSWERABLE, grade_answer
from mmscore.kits.vlmevalkit.rows import (
    EMPTY,
    JUDGED_KIT,
    RESULTS,
    VERSIONS,
    offer_for_names,
    read_answer_cell,
    read_other_cells,
    require_column,
)

FORM, SOURCES, PAGES = "extra.answer_format", "extra.evidence_sources", "extra.evidence_pages"

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/mmlongbenchdoc.py:MMLongBench_acc
KINDS = {
    "text": "Pure-text (Plain-text)",
    "layout": "Generalized-text (Layout)",
    "table": "Table",
    "chart": "Chart",
    "image": "Figure",
}
"""Line of the table -> what the evidence is called there."""


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    """Score a row; only answerable questions have a `recall`, only answers that say something a `precision`."""
    if parsed.how != JUDGED or parsed.value is None:
        return {}
    reference = read_answer_cell(item)
    score = grade_answer(reference, parsed.value, read_other_cells(item).get("answer_format", EMPTY))
    parts = {"recall": reference, "precision": parsed.value}
    return {"accuracy": score} | {name: score for name, text in parts.items() if text != NOT_ANSWERABLE}


def _reduce(scored: Scored, version: str) -> Metrics:
    return {"f1": _compute_f1(scored), "accuracy": scored.mean("accuracy")}


def _compute_f1(scored: Scored) -> Estimate:
    recall, precision = (scored.mean(name).value if name in scored.scores else 0.0 for name in ("recall", "precision"))
    total = recall + precision
    return Estimate(2 * recall * precision / total if total > 0 else 0.0, len(scored))


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    """Lay out the framework's table.

    Raises:
        Error: A row lacks its evidence, or it is no list.
    """
    accuracy = scored.scores["accuracy"].tolist()
    sources, pages = _read_lists(scored, SOURCES), [len(one) for one in _read_lists(scored, PAGES)]
    parts = {name: [kind in row for row in sources] for name, kind in KINDS.items()}
    parts |= {
        "single-page": [number == 1 for number in pages],
        "multi-page": [number > 1 for number in pages],
        "unanswerable": [number == 0 for number in pages],
    }
    return [
        {"category": "overall_f1", "num": len(scored), "avg_score": _compute_f1(scored).value},
        _build_line("overall_acc", accuracy),
        *(_build_line(name, compress(accuracy, held)) for name, held in parts.items()),
    ]


def _read_lists(scored: Scored, column: str) -> list[list[object]]:
    try:
        return [parse_list(cell) for cell in require_column(scored, column)]
    except RowError as error:
        raise Error(f"{column}: {error} Keep this column of the framework's table.") from None


def _build_line(name: str, values: Iterable[float]) -> Row:
    scores = list(values)
    return {"category": name, "num": len(scores), "avg_score": sum(scores) / len(scores) if scores else 0.0}


RECIPE = Recipe(
    summary="MMLongBench-Doc as VLMEvalKit scores it: answers that a judge extracts, by their format",
    parity=JUDGED_KIT,
    versions=VERSIONS,
    columns=("question", "answer", "label", "extra"),
    parse=lambda item, version: UNPARSED,
    metrics=_score_row,
    reduce=_reduce,
    table=_build_table,
    keep=(SOURCES, PAGES),
    groups=(FORM,),
    results=RESULTS,
    default_for=offer_for_names("MMLongBench-Doc", frozenset(("MMLongBench_DOC",))),
    judges=("vlmevalkit_mmlongbench",),
    needs_judge=True,
)
