"""ReForm-Eval's captions: BLEU-1 to 4, METEOR, ROUGE-L and CIDEr of the texts as they are.

Every row is an image of its own, copies of a sample too. CIDEr takes the rarity of words from the
references of all scored rows, for groups too. METEOR is there where Java and pycocoevalcap (the extra
`captions`) are found.

Parity: FudanDISC/ReForm-Eval@df1cfa7 metrics/generation.py with pycocoevalcap 1.2. Not kept: METEOR
never ends there where a reference holds a line break; here the break is a blank.
"""

from collections.abc import Mapping, Sequence

from mmconvert.core.errors import RowError, show
from mmscore.core.estimates import Estimate
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, Metrics, Recipe, Row, parse_whole_response, read_label
from mmscore.core.table import Scored
from mmscore.kits.reform_eval.evaluation import GENERATION
from mmscore.kits.reform_eval.rows import KIT, build_log_table, is_from_kit
from mmscore.metrics.coco_meteor import compute_meteor, count_meteor
from mmscore.metrics.coco_rouge_l import coco_rouge_l
from mmscore.nlp import meteor
from mmscore.scoring.captions import CIDER, COUNTS, ROUGE_L, TEXTS, add_counts, compute_caption_metrics, read_counts

METEOR, METEOR_COUNTS = "meteor", "meteor_counts"
LAST = (ROUGE_L, CIDER)
"""Numbers that the framework logs after METEOR."""

VERSIONS = {"2": "FudanDISC/ReForm-Eval@df1cfa7", "1": "FudanDISC/ReForm-Eval@1046839, CIDEr alone"}


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    return {ROUGE_L: coco_rouge_l(item.prediction, _read_references(item))}


def _read_references(item: Item) -> Sequence[str]:
    label = read_label(item)
    listed = item.answers if label is None else label
    if not isinstance(listed, list | tuple) or not listed or not all(isinstance(text, str) for text in listed):
        raise RowError("references.type", "label", f"expected a list of captions {show(listed)}. Give it as a list.")
    captions: Sequence[str] = listed
    return captions


def _adjust_rows(scored: Scored, version: str) -> Scored:
    wanted = version != "1" and meteor.describe_missing() is None
    return add_counts(scored, _read_references, {METEOR_COUNTS: count_meteor} if wanted else {})


def _reduce(scored: Scored, version: str) -> Metrics:
    metrics = compute_caption_metrics(scored, 1, "fraction")
    if version == "1":
        return {CIDER: metrics[CIDER]}
    counts = read_counts(scored, METEOR_COUNTS)
    if counts is None:
        return metrics
    bleu = {name: estimate for name, estimate in metrics.items() if name not in LAST}
    meteor = Estimate(compute_meteor(counts), len(scored))
    return {**bleu, METEOR: meteor, **{name: metrics[name] for name in LAST}}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    numbers = {name: estimate.value for name, estimate in _reduce(scored, version).items()}
    return build_log_table(GENERATION, {"CIDEr": numbers[CIDER]} if version == "1" else numbers)


RECIPE = Recipe(
    summary="Captions as ReForm-Eval scores them: BLEU, METEOR, ROUGE-L, CIDEr",
    parity=KIT,
    versions=VERSIONS,
    columns=("answers", "label"),
    parse=parse_whole_response,
    metrics=_score_row,
    settle=_adjust_rows,
    reduce=_reduce,
    table=_build_table,
    keep=(*TEXTS, COUNTS, METEOR_COUNTS),
    default_for=lambda facts: "captions of ReForm-Eval" if is_from_kit(facts, "caption") else None,
)
