"""How ReForm-Eval's accuracy changes from round to round of a conversation."""

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from mmconvert.core.errors import Error


class Trend(msgspec.Struct, frozen=True):
    """Accuracy against the number of the round.

    Attributes:
        correlation: Pearson's; NaN for a single round, or where the accuracy is always the same.
        slope: Of the straight line of least squares, a round; 0 for a single round.
    """

    correlation: float
    slope: float


def reform_round_trend(rounds: Mapping[float, Sequence[float]]) -> Trend:
    """Hold the mean of each round against its number; every round counts the same.

    Args:
        rounds: Scores of each round, at least one.

    Returns:
        Correlation and slope.

    Raises:
        Error: There are no rounds, or one without scores: no straight line can be laid through them.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 utils/run_utils.py:multi_round_eval (numpy corrcoef, scikit-learn
    LinearRegression).

    Example:
        >>> reform_round_trend({0: [1, 1], 1: [1, 0], 2: [0, 0]})
        Trend(correlation=-1.0, slope=-0.5)
    """
    if not rounds or not all(len(values) for values in rounds.values()):
        raise Error("a round has no scores, so that accuracy has no trend. Give the predictions of every round.")
    numbers = np.array(list(rounds), np.float64)
    means = np.array([np.mean(values) for values in rounds.values()])
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = float(np.corrcoef(numbers, means)[0, 1]) if len(numbers) > 1 else math.nan
    numbers, means = numbers - numbers.mean(), means - means.mean()
    spread = float(numbers @ numbers)
    return Trend(correlation, float(numbers @ means) / spread if spread else 0.0)


METRIC = reform_round_trend
