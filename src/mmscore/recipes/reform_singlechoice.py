"""ReForm-Eval's single choice: the first mark in brackets, or the option of least loss.

`format_hit_rate` is the share of replies with a mark. Where samples stand in several rows (other
prompts, options shuffled), `instability` is the mean entropy of what was chosen, in natural logarithms, and
rows of one sample count as one for the errors.

Parity: FudanDISC/ReForm-Eval@df1cfa7 run_loader_eval.py, metrics/singlechoice.py. The options' texts
are not looked for, as the kit's evaluation does not; its log needs every sample equally often.
"""

from collections.abc import Sequence

from mmscore.kits.reform_eval.rows import (
    CHOICE_COLUMNS,
    CHOICE_KEEP,
    KIT,
    VERSIONS,
    choice_means,
    choice_scores,
    choice_table,
    is_from_kit,
    parse_choice,
    with_instability,
)
from mmscore.recipe import Facts, Recipe, Row
from mmscore.scored import Scored


def _settle(scored: Scored, version: str) -> Scored:
    return with_instability(scored)


def _table(scored: Scored, version: str) -> Sequence[Row]:
    return choice_table(scored, choice_means(scored, version))


def _default_for(facts: Facts) -> str | None:
    if is_from_kit(facts, "multiple_choice") and not (facts.grouped and facts.rounds):
        return "single choice of ReForm-Eval"
    return None


RECIPE = Recipe(
    summary="Single choice as ReForm-Eval scores it, with its stability",
    parity=KIT,
    versions=VERSIONS,
    columns=CHOICE_COLUMNS,
    parse=parse_choice,
    metrics=choice_scores,
    settle=_settle,
    reduce=choice_means,
    table=_table,
    keep=CHOICE_KEEP,
    default_for=_default_for,
)
