"""How EvalScope names and rounds its numbers, at each release that changed them."""

import json
from collections.abc import Mapping, Sequence
from decimal import ROUND_FLOOR, Decimal
from typing import Literal

from mmscore.recipe import Row
from mmscore.scored import Scored

Release = Literal["1.3.0", "1.10.0", "1.14.1"]

VERSIONS: Mapping[str, str] = {
    "1.14": "modelscope/evalscope 1.14.1",
    "1.10": "modelscope/evalscope 1.10.0",
    "1.3": "modelscope/evalscope 1.3.0",
}
RELEASES: Mapping[str, Release] = {"1.14": "1.14.1", "1.10": "1.10.0", "1.3": "1.3.0"}
FORMATS = frozenset(("openai_messages", "evalscope_predictions", "evalscope_reviews"))
"""Formats that General-VQA reads and EvalScope writes."""

STATISTICS = {"R": "recall", "P": "precision", "F": "f1"}
DIGITS = 4


def metric_label(name: str, version: str) -> str:
    """Name the mean of a score as the kit's report does.

    Args:
        name: The score of one row, such as `bleu-1`, `Rouge-L-R`, `acc`.
        version: A key of `VERSIONS`.

    Example:
        >>> metric_label("bleu-1", "1.10"), metric_label("bleu-1", "1.14")
        ('mean_bleu-1', 'bleu:mean[ngram=1]')
        >>> metric_label("Rouge-L-R", "1.14")
        'rouge:mean[statistic="recall",variant="l"]'
    """
    if RELEASES[version] != "1.14.1":
        return f"mean_{name}"
    identity, dimensions = _identity(name)
    listed = ",".join(f"{key}={json.dumps(value)}" for key, value in sorted(dimensions.items()))
    return f"{identity}:mean[{listed}]" if listed else f"{identity}:mean"


def _identity(name: str) -> tuple[str, dict[str, object]]:
    head, *parts = name.split("-")
    if head == "bleu":
        return head, {"ngram": int(parts[0])}
    if head == "Rouge":
        kind, statistic = parts
        which: dict[str, object] = {"variant": "l"} if kind == "L" else {"ngram": int(kind)}
        return "rouge", which | {"statistic": STATISTICS[statistic]}
    return name, {}


def metric_table(scored: Scored, version: str) -> Sequence[Row]:
    """Lay out means as the kit's table does: metrics in order, a line for each subset.

    Args:
        scored: Rows with the column `subset`.
        version: A key of `VERSIONS`.

    Returns:
        Lines of Metric, Subset, Num and Score; Score is rounded to four digits until 1.10 and a text
        of percent since 1.14.
    """
    parts = list(scored.split("subset"))
    lines = []
    for name in scored.scores:
        for subset, part in parts or [("default", scored)]:
            estimate = part.mean(name)
            if estimate.n:
                score = round(estimate.value, DIGITS)
                shown = percent_text(score) if RELEASES[version] == "1.14.1" else score
                lines.append(
                    {"Metric": metric_label(name, version), "Subset": subset, "Num": estimate.n, "Score": shown}
                )
    return lines


def percent_text(value: float) -> str:
    """Write a fraction as percent with at most one decimal, ties toward positive infinity.

    Example:
        >>> percent_text(0.5), percent_text(0.5075), percent_text(0.5455)
        ('50%', '50.7%', '54.6%')
    """
    # The decimal text of the product: 0.5075 * 100 is 50.74999999999999 and rounds down.
    tenths = (Decimal(repr(value * 100)) * 10 + Decimal("0.5")).to_integral_value(ROUND_FLOOR)
    text = f"{tenths / 10:f}"
    return f"{text.removesuffix('.0')}%"
