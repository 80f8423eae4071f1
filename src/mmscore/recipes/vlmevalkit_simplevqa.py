"""SimpleVQA as VLMEvalKit reports it: the rates of answers that a judge calls correct, incorrect or not attempted.

Without a judge no row has a score. `accuracy_given_attempted` is the share of correct answers among those that were
attempted, `f1` its harmonic mean with `is_correct`.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/simplevqa.py:SimpleVQA.evaluate,
vlmeval/dataset/utils/simplevqa.py:SimpleVQAEval. Kept on purpose: the table rounds the three rates to four digits and
computes the other two from the rounded ones. Not kept: an answer without a verdict has no score here; the framework
counts it among all.
"""

from collections.abc import Mapping, Sequence

from mmscore.core.estimates import Estimate
from mmscore.core.judge import JUDGED
from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.core.recipe import Item, Metrics, Recipe, Row
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import JUDGED_KIT, RESULTS, VERSIONS, offer_for_names
from mmscore.kits.vlmevalkit.simplevqa import VERDICTS, compute_rates

DIGITS = 4
LABEL = "model_response"
"""What the framework calls the one model that it compares."""


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    if parsed.how != JUDGED or parsed.value is None:
        return {}
    return {name: float(parsed.value == verdict) for verdict, name in VERDICTS.items()}


def _reduce(scored: Scored, version: str) -> Metrics:
    means = {name: scored.mean(name) for name in VERDICTS.values()}
    correct, incorrect = (means[name] for name in ("is_correct", "is_incorrect"))
    rates = compute_rates(correct.value, correct.value + incorrect.value)
    return means | {name: Estimate(value, correct.n) for name, value in rates.items()}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    shares = {name: round(float(scored.scores[name].sum()) / len(scored), DIGITS) for name in VERDICTS.values()}
    attempted = round(shares["is_correct"] + shares["is_incorrect"], DIGITS)
    rates = compute_rates(shares["is_correct"], attempted)
    return [{"LVLM_name": LABEL, **shares, "is_given_attempted": attempted, **rates}]


RECIPE = Recipe(
    summary="SimpleVQA as VLMEvalKit scores it: a judge's verdicts",
    parity=JUDGED_KIT,
    versions=VERSIONS,
    columns=("question", "answer", "label"),
    parse=lambda item, version: UNPARSED,
    metrics=_score_row,
    reduce=_reduce,
    table=_build_table,
    results=RESULTS,
    default_for=offer_for_names("SimpleVQA", frozenset(("SimpleVQA",))),
    judges=("vlmevalkit_simplevqa",),
    needs_judge=True,
)
