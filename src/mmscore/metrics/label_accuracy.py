"""Share of predictions that are the reference, as scikit-learn counts it."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mmconvert.core.errors import RowError, UsageError, show
from mmscore.nlp.class_labels import build_label_pair


def label_accuracy(
    true: Sequence[Any] | None,
    said: Sequence[Any] | None,
    *,
    normalize: bool = True,
    sample_weight: Sequence[float] | None = None,
) -> float:
    """Count the samples whose prediction equals the reference.

    Args:
        true: References, one text or whole number a sample, or a row of marks, which is right as a whole. A text never
            equals a number.
        said: Predictions, as many.
        normalize: Give the share, 0 to 1; else the (weighted) count.
        sample_weight: What each sample counts.

    Returns:
        The share, NaN for no samples; or the count.

    Raises:
        RowError: The labels are refused (see `build_label_pair`), or the weights add up to nothing.
        UsageError: `normalize` is no truth value.

    Parity: scikit-learn 1.5.2 sklearn/metrics/_classification.py:accuracy_score.

    Example:
        >>> label_accuracy([1, 0, 1, 1], [1, 1, 1, 0]), label_accuracy(["1"], [1])
        (0.5, 0.0)
    """
    if not isinstance(normalize, bool):
        raise UsageError(f"normalize: expected true or false {show(normalize)}.")
    pair = build_label_pair(true, said, sample_weight, rows=True)
    right = pair.score_hits()
    weights = np.ones(len(right)) if pair.weights is None else pair.weights
    total = float(weights @ right)
    if not normalize:
        return total
    whole = float(weights.sum())
    if not whole and pair.weights is not None:
        raise RowError("weight.zero", "sample_weight", "the weights add up to nothing. Leave them out.")
    return total / whole if whole else math.nan


METRIC = label_accuracy
