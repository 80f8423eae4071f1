"""VLMEvalKit's short answers: VQA score, ANLS, 5 % margin or equality, by the benchmark's name.

The table is the kit's `_acc.csv`, in percent: a value for each split where there are splits, else
one for each category.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_vqa.py:ImageVQADataset.evaluate. Kept
on purpose: a benchmark that the kit does not know gets the VQA score, in which a single reference
always gives 0. Not kept: a failed inference counts apart, the kit scores its failure text.
"""

from collections.abc import Mapping, Sequence

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item, Recipe, Row, means, read_label, whole_reply
from mmscore.core.table import Scored
from mmscore.metrics.vlmevalkit_vqa import RULES, references_of, rule_for, vlmevalkit_vqa

FORMATS = frozenset(("lmudata", "vlmevalkit_predictions"))


def _metrics(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    rule = rule_for(item.dataset or "")
    return {rule.method: vlmevalkit_vqa(item.prediction, _references(item), rule)}


def _references(item: Item) -> Sequence[str]:
    if item.label is None:
        return item.answers or [item.answer or ""]
    label = read_label(item)
    if isinstance(label, list):
        return [str(value) for value in label]
    return references_of(label if isinstance(label, str) else item.label)


def _table(scored: Scored, version: str) -> Sequence[Row]:
    splits, categories = ({n: _percent(p) for n, p in scored.split(column)} for column in ("split", "category"))
    overall = {"Overall": _percent(scored)}
    return [splits | overall if splits else overall | dict(sorted(categories.items()))]


def _percent(scored: Scored) -> float:
    """Average the rows in percent, whichever score each has."""
    (value,) = (scored.mean(name).value for name in scored.scores)
    return value * 100


def _default_for(facts: Facts) -> str | None:
    known = facts.datasets and all(any(part in name for part in RULES) for name in facts.datasets)
    if facts.tasks == {"vqa"} and known and facts.formats and facts.formats <= FORMATS:
        return f"short answers of {', '.join(sorted(facts.datasets))} from a VLMEvalKit table"
    return None


RECIPE = Recipe(
    summary="Short answers as VLMEvalKit scores them, by the benchmark's own rule",
    parity="VLMEvalKit",
    versions={"1": "since 2025-09-01 (open-compass/VLMEvalKit@e8e78f05)"},
    columns=("answer", "answers", "label", "dataset"),
    parse=whole_reply,
    metrics=_metrics,
    reduce=means("percent", scale=100),
    table=_table,
    keep=("split", "category"),
    groups=("split", "category"),
    default_for=_default_for,
)
