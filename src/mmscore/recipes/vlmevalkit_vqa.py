"""VLMEvalKit's short answers: VQA score, ANLS, 5 % margin or equality, by the benchmark's name.

The table is the framework's `_acc.csv`, in percent: a value for each split where there are splits, else
one for each category.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_vqa.py:ImageVQADataset.evaluate. Kept
on purpose: a benchmark that the framework does not know gets the VQA score, in which a single reference
always gives 0. Not kept: a failed inference counts apart, the framework scores its failure text.
"""

from collections.abc import Mapping, Sequence

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item, Recipe, Row, average_scores, parse_whole_response, read_label
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import RESULTS, has_shared_rule
from mmscore.metrics.vlmevalkit_vqa import RULES, choose_rule, read_references, vlmevalkit_vqa

DEFAULTED = "VizWiz"
"""A benchmark of the framework that goes by the rule for names that are none of `RULES`."""


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    rule = choose_rule(item.dataset or "")
    return {rule.method: vlmevalkit_vqa(item.prediction, _read_references(item), rule)}


def _read_references(item: Item) -> Sequence[str]:
    if item.label is None:
        return item.answers or [item.answer or ""]
    label = read_label(item)
    if isinstance(label, list):
        return [str(value) for value in label]
    return read_references(label if isinstance(label, str) else item.label)


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    splits, categories = ({n: _average_percent(p) for n, p in scored.split(column)} for column in ("split", "category"))
    overall = {"Overall": _average_percent(scored)}
    return [splits | overall if splits else overall | dict(sorted(categories.items()))]


def _average_percent(scored: Scored) -> float:
    """Average the rows in percent, whichever score each has."""
    (value,) = (scored.mean(name).value for name in scored.scores)
    return value * 100


def _default_for(facts: Facts) -> str | None:
    known = facts.datasets and all(any(part in name for part in (*RULES, DEFAULTED)) for name in facts.datasets)
    if facts.tasks == {"vqa"} and known and has_shared_rule(facts):
        return f"short answers of {', '.join(sorted(facts.datasets))} from a VLMEvalKit table"
    return None


RECIPE = Recipe(
    summary="Short answers as VLMEvalKit scores them, by the benchmark's own rule",
    parity="VLMEvalKit",
    versions={"1": "since 2025-09-01 (open-compass/VLMEvalKit@e8e78f05)"},
    columns=("answer", "answers", "label", "dataset"),
    parse=parse_whole_response,
    metrics=_score_row,
    reduce=average_scores("percent", scale=100),
    table=_build_table,
    keep=("split", "category"),
    groups=("split", "category"),
    results=RESULTS,
    default_for=_default_for,
)
