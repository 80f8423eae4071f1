"""How much ReForm-Eval's predictions for one question differ from prompt to prompt."""

import math
from collections import Counter
from collections.abc import Hashable, Iterable

from mmconvert.core.errors import Error


def reform_instability(groups: Iterable[Iterable[Hashable]]) -> float:
    """Average the entropy of the predictions for each question.

    Args:
        groups: Predictions of each question, any values.

    Returns:
        0 where all predictions of every question agree, at most the logarithm of their number; natural
        logarithm.

    Raises:
        Error: There are no questions.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 utils/run_utils.py:entropy_calculation.

    Example:
        >>> reform_instability([["a", "a"], ["a", "b"]]) == math.log(2) / 2
        True
    """
    entropies = [compute_entropy(predictions) for predictions in groups]
    if not entropies:
        raise Error("there are no predictions to compare. Give the whole file.")
    return math.fsum(entropies) / len(entropies)


def compute_entropy(predictions: Iterable[Hashable]) -> float:
    """Measure how much predictions differ; natural logarithm.

    Example:
        >>> compute_entropy(["a", "a"]), compute_entropy(["a", "b"]) == math.log(2)
        (0.0, True)
    """
    counts = Counter(predictions)
    total = counts.total()
    return math.fsum(-n / total * math.log(n / total) for n in counts.values() if n < total)


METRIC = reform_instability
