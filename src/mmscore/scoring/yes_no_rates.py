"""Rates of yes/no benchmarks, where `yes` is what is looked for."""

from msgspec.structs import replace

from mmconvert.core.errors import RowError, show
from mmscore.core.estimates import Estimate
from mmscore.core.recipe import Metrics
from mmscore.core.table import Scored

WORDS = YES, NO = ("yes", "no")


def check_word(word: str) -> str:
    """Give a reference that is yes or no.

    Raises:
        RowError: It is neither.
    """
    if word not in WORDS:
        raise RowError("answer.yes_no", "answer", f"expected yes or no {show(word)}. Correct the reference.")
    return word


def score_yes(right: float, *, said: bool, wanted: bool) -> dict[str, float]:
    """Give a row the scores whose means are precision and recall.

    Args:
        right: 1.0 when the response is right, else 0.0.
        said: Whether the response is yes.
        wanted: Whether the reference is yes.

    Returns:
        `precision` where the response is yes, `recall` where the reference is.

    Example:
        >>> score_yes(0.0, said=True, wanted=False)
        {'precision': 0.0}
    """
    scores = {"precision": right} if said else {}
    return {**scores, "recall": right} if wanted else scores


def compute_rate(scored: Scored, name: str) -> Estimate:
    """Average a score that rows may lack: 0 of no rows where the frameworks would divide by zero.

    Args:
        scored: Any part of the rows.
        name: The score.

    Returns:
        Fraction 0-1.
    """
    estimate = scored.mean(name) if name in scored.scores else Estimate(0.0, 0)
    return estimate if estimate.n else replace(estimate, value=0.0)


def compute_yes_rates(scored: Scored) -> Metrics:
    """Give the five numbers of POPE.

    Args:
        scored: Any part of the rows, with the scores `accuracy` and `yes_ratio` and those of `score_yes`.

    Returns:
        accuracy, precision, recall, f1, yes_ratio; fractions 0-1.
    """
    precision, recall = compute_rate(scored, "precision"), compute_rate(scored, "recall")
    return {
        "accuracy": compute_rate(scored, "accuracy"),
        "precision": precision,
        "recall": recall,
        "f1": compute_f1(precision, recall),
        "yes_ratio": replace(compute_rate(scored, "yes_ratio"), higher_is_better=None),
    }


def compute_f1(precision: Estimate, recall: Estimate) -> Estimate:
    """Combine precision and recall; the error of the result is not told.

    Args:
        precision: Right among the responses `yes`, a fraction.
        recall: Right among the questions whose answer is yes, a fraction.

    Returns:
        Their harmonic mean, 0 where both are 0; `n` counts the questions whose answer is yes.

    Example:
        >>> compute_f1(Estimate(1.0, 2), Estimate(0.5, 4)).value
        0.6666666666666666
    """
    total = precision.value + recall.value
    return Estimate(2 * precision.value * recall.value / total if total else 0.0, recall.n)
