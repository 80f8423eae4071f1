"""Pearson's correlation in single precision, predictions that failed left out, as MMTrustEval computes it."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mmconvert.core.errors import RowError, UsageError, show

Floats = npt.NDArray[np.float32]


def mmtrust_pearson(true: Sequence[Any] | None, said: Sequence[Any], nan_to_num: float | None = None) -> float:
    """Correlate predictions with references.

    Args:
        true: References: numbers or texts of numbers.
        said: Predictions, in the order of the references; NaN or None for one that failed. Where there are
            fewer, the references beyond them are not looked at.
        nan_to_num: What replaces a failed prediction; None leaves the sample out.

    Returns:
        -1 to 1; NaN where fewer than two samples are left, or one side is always the same.

    Raises:
        RowError: A value is not a number, a reference is not finite, or predictions outnumber the references.
        UsageError: `nan_to_num` is not a number.

    Parity: thu-ml/MMTrustEval@a067801 mmte/evaluators/metrics.py:pearson_corr with scipy 1.13.1: float32
    throughout, which is what the last digits of the framework's numbers are.

    Example:
        >>> mmtrust_pearson([1, 2, 9], [2.0, 4.0, float("nan")])
        1.0
    """
    values = convert_to_float32(said, "pred")
    if nan_to_num is not None:
        values = np.nan_to_num(values, nan=_read_number(nan_to_num))
    labels = convert_to_float32((), "label") if true is None else convert_to_float32(true, "label")
    kept = np.flatnonzero(~np.isnan(values))
    if kept.size < 2:
        return math.nan
    if kept[-1] >= len(labels):
        raise RowError("label.count", "label", f"{len(labels)} references for {len(values)} predictions.")
    return _compute_correlation(labels[kept], values[kept])


def _read_number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise UsageError(f"nan_to_num: expected a number {show(value)}.") from None


def convert_to_float32(values: Sequence[Any], field: str, *, rows: bool = False) -> Floats:
    """Turn numbers, texts of numbers and None (NaN) into single precision.

    Args:
        values: One a sample.
        field: Whose, for messages.
        rows: Take rows of them, too.

    Raises:
        RowError: A value is not a number.
    """
    try:
        array = np.array(values).astype(np.float32)
    except (ValueError, TypeError, OverflowError):
        raise RowError(f"{field}.number", field, f"expected numbers {show(values)}.") from None
    if array.ndim != 1 and not rows:
        raise RowError(f"{field}.number", field, f"expected one number a sample {show(values)}.")
    return array


def _compute_correlation(x: Floats, y: Floats) -> float:
    if bool(np.all(x == x[0]) or np.all(y == y[0])):
        return math.nan
    if len(x) == 2:
        return float(np.sign(x[1] - x[0]) * np.sign(y[1] - y[0]))
    if not bool(np.isfinite(x).all() and np.isfinite(y).all()):
        raise RowError("label.finite", "label", "a reference or a prediction is not finite. Correct it.")
    unit = []
    for side in (x, y):
        with np.errstate(over="ignore", invalid="ignore"):
            centred = side - side.mean(dtype=np.float32)
        if not bool(np.isfinite(centred).all()):
            raise RowError("pred.range", "pred", "the numbers are too large for single precision. Scale them.")
        # Scaled by its largest value first, as BLAS does, so that squares cannot overflow.
        largest = np.abs(centred).max()
        centred = centred / largest if largest else centred
        unit.append(centred / np.sqrt(centred @ centred))
    return float(np.clip(unit[0] @ unit[1], -1.0, 1.0))


METRIC = mmtrust_pearson
