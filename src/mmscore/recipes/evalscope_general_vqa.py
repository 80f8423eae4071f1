"""EvalScope's General-VQA: BLEU-1 to 4 and ROUGE-1, 2, L of each response against its reference.

Until 1.10 a row with an empty side has no ROUGE, so that the n of ROUGE may be smaller than that of
BLEU. Numbers are unrounded here; the table rounds as the framework's report does.

Parity: modelscope/evalscope benchmarks/general_vqa/general_vqa_adapter.py with its default metrics
and aggregation, at the release that the version names.
"""

from collections.abc import Mapping

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item, Recipe, read_label
from mmscore.kits.evalscope.response import split_reasoning
from mmscore.kits.evalscope.table import RELEASES, VERSIONS, build_table, compute_labeled_means, has_rule_of
from mmscore.kits.evalscope.target import check_target
from mmscore.metrics.evalscope_accuracy import join_target
from mmscore.metrics.evalscope_bleu_rouge import evalscope_bleu_rouge


def _parse(item: Item, version: str) -> Parsed:
    text, reasoning = split_reasoning(item.prediction)
    return Parsed(text, "whole response" if reasoning is None else "after the reasoning block")


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    # Join the references; no answer, 0 and false are an empty text to the framework.
    target = list(item.answers) if item.label is None else read_label(item) or ""
    reference = join_target(check_target(target), RELEASES[version])
    return evalscope_bleu_rouge(parsed.value, reference, RELEASES[version]) or {}


def _default_for(facts: Facts) -> str | None:
    if has_rule_of(facts, "openai_messages", "general_vqa") and "multiple_choice" not in facts.tasks:
        return "open answers to EvalScope's message format"
    return None


RECIPE = Recipe(
    summary="Open answers as EvalScope's General-VQA scores them (BLEU, ROUGE)",
    parity="EvalScope general_vqa",
    versions=VERSIONS,
    columns=("answers", "label"),
    parse=_parse,
    metrics=_score_row,
    reduce=compute_labeled_means,
    table=build_table,
    keep=("subset",),
    groups=("subset",),
    default_for=_default_for,
    judges=("evalscope", "evalscope_numeric"),
)
