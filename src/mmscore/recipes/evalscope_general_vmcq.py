"""EvalScope's General-VMCQ: the label after the last `ANSWER:` marker against the reference.

Since 1.14 a row whose reference is not exactly one value is left out; before, several are joined. Options:
`chinese: true` for responses to the framework's Chinese templates, `multiple: true` where several labels may be chosen,
`aggregation: mean_and_pass_at_k` (or `_vote_at_k`, `_pass_hat_k`) for a table that counts several responses to a
question
together.

Parity: modelscope/evalscope benchmarks/general_vmcq/general_vmcq_adapter.py at the release that the version names,
without options with its default English prompt and single answers.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from mmconvert.core.errors import UsageError, show
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item, Recipe, has_options, read_label
from mmscore.core.recipe_options import check_known
from mmscore.kits.evalscope.aggregation import KINDS, MEAN
from mmscore.kits.evalscope.response import split_reasoning
from mmscore.kits.evalscope.table import RELEASES, VERSIONS, build_table, compute_labeled_means, has_rule_of
from mmscore.kits.evalscope.target import check_target
from mmscore.metrics.evalscope_accuracy import evalscope_accuracy
from mmscore.parsers.evalscope_choice import evalscope_choice

BENCHMARKS = (
    "general_vmcq", "blink", "cc_bench", "emb_spatial_bench", "erqa", "micro_vqa", "mm_bench", "mm_star", "mmmu_pro",
    "pmc_vqa", "science_qa", "seed_bench_2_plus", "visulogic", "vstar_bench",
)  # fmt: skip
"""Benchmarks that are read and scored as General-VMCQ. Source: modelscope/evalscope@fde259d evalscope/benchmarks."""

NAMES = {"1.14": "accuracy"}
"""The score's name at a version; `acc` at all others."""

READING = ("chinese", "multiple")
"""Options of the recipe, both false where they are left out; see `evalscope_choice`."""

AGGREGATION = "aggregation"
"""Option of the recipe: a key of `KINDS`."""


def _parse(item: Item, version: str, *, chinese: bool = False, multiple: bool = False) -> Parsed:
    text = split_reasoning(item.prediction)[0]
    return evalscope_choice(text, len(item.options), RELEASES[version], chinese=chinese, multiple=multiple)


def _configure(options: Mapping[str, Any]) -> Recipe:
    """Read responses as the user's prompt asked for them, and count them as wished.

    Raises:
        UsageError: An option is unknown, or its value is none that it takes.
    """
    check_known(options, (*READING, AGGREGATION))
    reading = {name: value for name, value in options.items() if name != AGGREGATION}
    for name, value in reading.items():
        if not isinstance(value, bool):
            raise UsageError(f"{name}: expected true or false {show(value)}.")
    kind = options.get(AGGREGATION, MEAN)
    if kind not in tuple(KINDS):
        raise UsageError(f"{AGGREGATION}: expected one of {', '.join(KINDS)} {show(kind)}.")
    return replace(RECIPE, parse=partial(_parse, **reading), table=partial(build_table, aggregation=kind))


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    score = evalscope_accuracy(parsed.value or "", _read_target(item), RELEASES[version])
    return {} if score is None else {NAMES.get(version, "acc"): score}


def _read_target(item: Item) -> str | Sequence[str]:
    if item.label is None:
        return item.answer or ""
    return check_target(read_label(item))


def _default_for(facts: Facts) -> str | None:
    if has_rule_of(facts, "vmcq", *BENCHMARKS) and facts.tasks == {"multiple_choice"}:
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
    table=build_table,
    keep=("subset", "sample"),
    groups=("subset",),
    default_for=_default_for,
    judges=("evalscope", "evalscope_numeric"),
    configure=_configure,
    has_options=has_options,
)
