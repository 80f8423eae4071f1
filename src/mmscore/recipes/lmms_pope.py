"""POPE as lmms-eval scores it: accuracy, precision, recall and F1 of yes, and the share of yes.

The whole response must be yes or no, case and outer blanks aside; `Yes.` is wrong.

Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/pope/utils.py. Kept on purpose: recall
leaves out responses that are neither word, and `pope_yes_ratio` is that of the references.
"""

from collections.abc import Mapping, Sequence

from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.core.recipe import Item, Metrics, Recipe, Row
from mmscore.core.table import Scored
from mmscore.kits.lmms_eval.rows import COLUMNS, KIT, VERSIONS, offer_for, read_reference, score_first_response
from mmscore.scoring.yes_no_rates import WORDS, YES, check_word, compute_yes_rates, score_yes

NAMES = {"f1": "f1_score"}


def _parse(item: Item, version: str) -> Parsed:
    word = item.prediction.lower().strip()
    return Parsed(word, "whole response") if word in WORDS else UNPARSED


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    answer = check_word(read_reference(item).lower().strip())
    right = float(parsed.value == answer)
    wanted = answer == YES and parsed.value is not None
    scores = score_yes(right, said=parsed.value == YES, wanted=wanted)
    return {"accuracy": right, **scores, "yes_ratio": float(answer == YES)}


def _reduce(scored: Scored, version: str) -> Metrics:
    return {f"pope_{NAMES.get(name, name)}": estimate for name, estimate in compute_yes_rates(scored).items()}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    return [{name: estimate.value for name, estimate in _reduce(scored, version).items()}]


RECIPE = Recipe(
    summary="POPE as lmms-eval scores it: the whole response must be yes or no",
    parity=KIT,
    versions=VERSIONS,
    columns=COLUMNS,
    parse=_parse,
    metrics=score_first_response(_score_row),
    reduce=_reduce,
    table=_build_table,
    keep=("category",),
    groups=("category",),
    default_for=offer_for("POPE", "pope", "pope_adv", "pope_pop", "pope_random", "pope_full"),
)
