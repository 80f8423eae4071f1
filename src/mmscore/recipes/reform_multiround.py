"""ReForm-Eval's conversations: single choice round after round, and how accuracy changes with the rounds.

`corr` is the correlation of accuracy and round, `slope` that of the straight line through them;
each round counts the same. Accuracy, format and stability as `reform_singlechoice`.

Parity: FudanDISC/ReForm-Eval@df1cfa7 run_loader_eval.py with multi_round_eval, utils/run_utils.py:
multi_round_eval.
"""

from msgspec.structs import replace

from mmconvert.core.errors import Error
from mmscore.core.estimates import Estimate
from mmscore.core.recipe import Facts, Metrics
from mmscore.core.table import SCORED, Scored
from mmscore.kits.reform_eval.rows import (
    CHOICE_KEEP,
    average_choices,
    build_choice_recipe,
    build_choice_table,
    is_from_kit,
    measure_instability,
)
from mmscore.metrics.reform_round_trend import reform_round_trend


def _adjust_rows(scored: Scored, version: str) -> Scored:
    """Measure stability.

    Raises:
        Error: A row does not say which round it is.
    """
    if None in scored.with_status(SCORED).column("round"):
        raise Error("round: a row has none, and accuracy is reported per round. Fill the column.")
    return measure_instability(scored)


def _reduce(scored: Scored, version: str) -> Metrics:
    metrics = dict(average_choices(scored, version))
    rounds = {float(number): part.scores["accuracy"].tolist() for number, part in scored.split("round")}
    if len(rounds) > 1:
        trend = reform_round_trend(rounds)
        metrics["corr"] = Estimate(trend.correlation, len(rounds))
        metrics["slope"] = Estimate(trend.slope, len(rounds))
    return metrics


def _default_for(facts: Facts) -> str | None:
    if is_from_kit(facts, "multiple_choice") and facts.grouped and facts.rounds:
        return "rounds of ReForm-Eval's conversations"
    return None


RECIPE = replace(
    build_choice_recipe(
        "Conversations as ReForm-Eval scores them: single choice and its trend over the rounds", _default_for
    ),
    settle=_adjust_rows,
    reduce=_reduce,
    table=lambda scored, version: build_choice_table(scored, _reduce(scored, version)),
    keep=(*CHOICE_KEEP, "round"),
    groups=("round",),
)
