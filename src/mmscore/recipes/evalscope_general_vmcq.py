"""EvalScope's General-VMCQ: the label after the last `ANSWER:` marker against the reference.

Since 1.14 a row whose reference is not exactly one value is left out; before, several are joined.

Parity: modelscope/evalscope benchmarks/general_vmcq/general_vmcq_adapter.py with its default
English prompt and single answers, at the release that the version names.
"""

from collections.abc import Mapping, Sequence

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item, Recipe, read_label
from mmscore.kits.evalscope.response import split_reasoning
from mmscore.kits.evalscope.table import OUTPUTS, RELEASES, VERSIONS, build_mean_table, compute_labeled_means
from mmscore.kits.evalscope.target import check_target
from mmscore.metrics.evalscope_accuracy import evalscope_accuracy
from mmscore.parsers.evalscope_choice import evalscope_choice

FORMATS = OUTPUTS | {"vmcq"}
NAMES = {"1.14": "accuracy"}
"""The score's name at a version; `acc` at all others."""


def _parse(item: Item, version: str) -> Parsed:
    return evalscope_choice(split_reasoning(item.prediction)[0], len(item.options), RELEASES[version])


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    score = evalscope_accuracy(parsed.value or "", _read_target(item), RELEASES[version])
    return {} if score is None else {NAMES.get(version, "acc"): score}


def _read_target(item: Item) -> str | Sequence[str]:
    if item.label is None:
        return item.answer or ""
    return check_target(read_label(item))


def _default_for(facts: Facts) -> str | None:
    if facts.formats and facts.formats <= FORMATS and facts.tasks == {"multiple_choice"}:
        return "multiple-choice rows of EvalScope's format"
    return None


RECIPE = Recipe(
    summary="Multiple choice as EvalScope's General-VMCQ scores it",
    parity="EvalScope general_vmcq",
    versions=VERSIONS,
    columns=("options", "answer", "label"),
    parse=_parse,
    metrics=_score_row,
    reduce=compute_labeled_means,
    table=build_mean_table,
    keep=("subset",),
    groups=("subset",),
    default_for=_default_for,
    judges=("evalscope", "evalscope_numeric"),
)
