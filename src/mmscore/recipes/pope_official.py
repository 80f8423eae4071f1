"""POPE as its own script scores it: accuracy, precision, recall and F1 of yes, and the share of yes.

A response in which nothing is read counts as yes. One file is one of POPE's splits (random, popular,
adversarial), and its numbers stand by themselves.

Parity: AoiDragon/POPE@f3ec604 evaluate.py; haotian-liu/LLaVA@32cebc3 llava/eval/eval_pope.py has the same
rule. Kept on purpose: `NO`, `Not` and `no` behind a line break are a yes. Where the script divides by zero, the rate
is 0 here. POPE's labels are `yes` and `no`; of any other the script makes a yes, here `Yes` and `No` mean what they
say and the rest is refused.
"""

from collections.abc import Mapping, Sequence

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item, Recipe, Row
from mmscore.core.table import Scored
from mmscore.parsers.pope_yes_no import pope_yes_no
from mmscore.scoring.yes_no_rates import NO, YES, check_word, compute_yes_rates, score_yes

DATASET = "POPE"
FORMATS = frozenset(("pope",))
LLAVA = frozenset(("llava_answers",))
"""Formats of LLaVA's answers, which its `eval_pope.py` scores as POPE's own script does."""


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    if item.answer is None:
        return {}
    said, wanted = parsed.value != NO, check_word(item.answer.lower()) == YES
    right = float(said == wanted)
    return {"accuracy": right, **score_yes(right, said=said, wanted=wanted), "yes_ratio": float(said)}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    said, right = scored.scores["yes_ratio"] == 1, scored.scores["accuracy"] == 1
    counts = {"TP": said & right, "FP": said & ~right, "TN": ~said & right, "FN": ~said & ~right}
    names = ("Accuracy", "Precision", "Recall", "F1 score", "Yes ratio")
    rates = zip(names, compute_yes_rates(scored).values(), strict=True)
    return [{name: int(mask.sum()) for name, mask in counts.items()} | {name: e.value for name, e in rates}]


def _default_for(facts: Facts) -> str | None:
    if facts.formats and facts.formats <= FORMATS:
        return "POPE's own answer files"
    return "LLaVA's answers to POPE" if facts.formats == LLAVA and facts.datasets == {DATASET} else None


RECIPE = Recipe(
    summary="POPE as its own script scores it: no in the first sentence, else yes",
    parity="POPE evaluate.py",
    versions={"1": "AoiDragon/POPE@f3ec604"},
    columns=("answer",),
    parse=lambda item, version: pope_yes_no(item.prediction),
    metrics=_score_row,
    reduce=lambda scored, version: compute_yes_rates(scored),
    table=_build_table,
    keep=("category",),
    groups=("category",),
    default_for=_default_for,
)
