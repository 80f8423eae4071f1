"""Captions as VLMEvalKit scores them: BLEU-1 to 4, ROUGE-L and CIDEr, all times 100.

Texts are compared as they are: no tokenizer, case and marks count. CIDEr takes the rarity of words from
the references of all scored rows, for groups too; a single row has CIDEr 0.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_caption.py:ImageCaptionDataset.evaluate
with pycocoevalcap 1.2.
"""

from collections.abc import Mapping, Sequence

from mmconvert.core.errors import RowError, show
from mmconvert.core.text.literals import looks_like_list, parse_list
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item, Metrics, Recipe, Row, parse_whole_response, read_label
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import RESULTS, VERSIONS, has_shared_rule
from mmscore.metrics.coco_rouge_l import coco_rouge_l
from mmscore.scoring.captions import COUNTS, ROUGE_L, TEXTS, add_counts, compute_caption_metrics

NAMES = {ROUGE_L: "ROUGE_L", "cider": "CIDEr"}


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    return {ROUGE_L: coco_rouge_l(item.prediction, _read_references(item))}


def _read_references(item: Item) -> Sequence[str]:
    """Read the answer cell, which must be a list; the references as columns where there is no cell.

    Raises:
        RowError: The cell is not a list of texts, or there is none.
    """
    if item.label is None:
        listed = item.answers
    else:
        label = read_label(item)
        cell = label if isinstance(label, str) else item.label
        # A tuple is a list of references to OCRBench; the scorers of captions break off at one.
        listed = label if isinstance(label, list) else parse_list(cell) if looks_like_list(cell) else cell
    if isinstance(listed, str) or not listed or not all(isinstance(text, str) for text in listed):
        raise RowError("answer.type", "answer", f"expected a list of captions {show(listed)}. Give it as a list.")
    return listed


def _reduce(scored: Scored, version: str) -> Metrics:
    return compute_caption_metrics(scored, 100, "percent")


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    values = {name: estimate.value for name, estimate in _reduce(scored, version).items()}
    others = {NAMES[name]: values.pop(name) for name in NAMES}
    return [{"Bleu": list(values.values()), **others}]


def _default_for(facts: Facts) -> str | None:
    if facts.tasks == {"caption"} and has_shared_rule(facts):
        return "captions of a VLMEvalKit table"
    return None


RECIPE = Recipe(
    summary="Captions as VLMEvalKit scores them: BLEU, ROUGE-L, CIDEr",
    parity="VLMEvalKit",
    versions=VERSIONS,
    columns=("answers", "label"),
    parse=parse_whole_response,
    metrics=_score_row,
    settle=lambda scored, version: add_counts(scored, _read_references),
    reduce=_reduce,
    table=_build_table,
    keep=(*TEXTS, COUNTS),
    results=RESULTS,
    default_for=_default_for,
)
