"""Labels of a classification as arrays, refused where scikit-learn's metrics refuse them."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from mmconvert.core.errors import RowError, show

Array = npt.NDArray[Any]

_MARKS = 2
"""Most distinct values of rows that scikit-learn takes for marks."""


class LabelPair(msgspec.Struct, frozen=True):
    """References and predictions, one of each a sample.

    Attributes:
        true: References.
        said: Predictions.
        weights: What each sample counts; None where all count the same.
    """

    true: Array
    said: Array
    weights: npt.NDArray[np.float64] | None = None

    @property
    def mixed(self) -> bool:
        """Tell whether one side holds texts and the other numbers."""
        return (self.true.dtype.kind == "U") != (self.said.dtype.kind == "U")

    def score_hits(self) -> npt.NDArray[np.float64]:
        """Give 1 for each sample whose prediction, or whole row, is the reference, else 0; a text never is a number."""
        if self.mixed:
            return np.zeros(len(self.true))
        equal: npt.NDArray[np.bool_] = self.true == self.said
        return np.asarray(equal if equal.ndim == 1 else equal.all(axis=1), np.float64)

    def list_labels(self) -> Array:
        """Give the distinct labels of both sides, sorted."""
        return np.union1d(self.true, self.said)


def build_label_pair(
    true: Sequence[Any] | None,
    said: Sequence[Any] | None,
    weights: Sequence[float] | None = None,
    *,
    rows: bool = False,
) -> LabelPair:
    """Check the labels of both sides.

    Args:
        true: References: texts, or whole numbers (a float or a truth value will do).
        said: Predictions, as many, of either kind.
        weights: What each sample counts, as many; None counts all the same.
        rows: Take a row of marks a sample on both sides, too: two distinct whole numbers at most, such as 0 and 1.

    Raises:
        RowError: The lengths differ, or a side holds nothing, lists, or numbers that are not whole.

    Parity: scikit-learn 1.5.2 sklearn/metrics/_classification.py:_check_targets.
    """
    pair = _read_labels(true, "label", rows), _read_labels(said, "pred", rows)
    if pair[0].shape[1:] != pair[1].shape[1:]:
        raise RowError("label.type", "label", f"rows of {pair[0].shape[1:]} marks beside rows of {pair[1].shape[1:]}.")
    if len(pair[0]) != len(pair[1]):
        raise RowError("label.count", "label", f"{len(pair[0])} references for {len(pair[1])} predictions.")
    return LabelPair(*pair, None if weights is None else _read_weights(weights, len(pair[0])))


def _read_labels(values: Sequence[Any] | None, field: str, rows: bool) -> Array:
    message = f"expected one text or whole number a sample {show(values)}. Use a metric that needs no labels."
    if values is None or isinstance(values, str):
        raise RowError("label.type", field, message)
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError):  # lists of several lengths
        raise RowError("label.type", field, message) from None
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.ravel()
    marks = rows and array.ndim == 2 and array.dtype.kind in "biuf" and 0 < len(np.unique(array)) <= _MARKS
    if not (array.ndim == 1 or marks) or array.dtype.kind not in "biufU":
        raise RowError("label.type", field, message)
    if array.dtype.kind == "f" and not bool(np.all(array == np.trunc(array)) and np.all(np.isfinite(array))):
        raise RowError("label.type", field, message)
    return array


def _read_weights(values: Sequence[float], count: int) -> npt.NDArray[np.float64]:
    try:
        weights = np.asarray(values, np.float64)
    except (ValueError, TypeError):
        raise RowError("weight.type", "sample_weight", f"expected numbers {show(values)}.") from None
    if weights.shape != (count,) or not bool(np.all(np.isfinite(weights))):
        raise RowError("weight.count", "sample_weight", f"expected {count} finite numbers {show(values)}.")
    return weights
