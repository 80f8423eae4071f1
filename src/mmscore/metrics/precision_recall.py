"""Precision, recall and F1 of labels, with the averages and corner cases of scikit-learn."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from mmconvert.core.errors import RowError, UsageError, show
from mmscore.nlp.class_labels import Array, LabelPair, build_label_pair

Floats = npt.NDArray[np.float64]

AVERAGES = ("binary", "micro", "macro", "weighted", None)


class Rates(msgspec.Struct, frozen=True):
    """Three rates, each a number from 0 to 1, or one a label where nothing is averaged.

    Attributes:
        precision: Of what was said to be the label, the share that is.
        recall: Of what is the label, the share that was said to be.
        f1: Their harmonic mean, 2 TP / (said + true).
    """

    precision: float | Floats
    recall: float | Floats
    f1: float | Floats


def precision_recall(
    true: Sequence[Any] | None,
    said: Sequence[Any] | None,
    *,
    labels: Sequence[Any] | None = None,
    pos_label: Any = 1,
    average: str | None = "binary",
    sample_weight: Sequence[float] | None = None,
    zero_division: float | str = "warn",
) -> Rates:
    """Compare predictions with references label by label.

    Args:
        true: References, one text or whole number a sample.
        said: Predictions, as many, of the same kind.
        labels: The labels that count, in this order; None for all that occur, sorted. `binary` ignores them.
        pos_label: The label whose rates `binary` gives.
        average: `binary`; `micro` over all counts; `macro` and `weighted` (by true count) over the labels,
            those without a rate (NaN) left out; None gives one number a label.
        sample_weight: What each sample counts.
        zero_division: What a rate of nothing is: 0, 1, NaN, or `warn` for 0.

    Raises:
        RowError: The labels are refused (see `build_label_pair`), one side is texts and the other numbers, three
            labels occur with `binary`, or two others than `pos_label` do.
        UsageError: A setting has no such value.

    Parity: scikit-learn 1.5.2 sklearn/metrics/_classification.py:precision_recall_fscore_support.

    Example:
        >>> precision_recall([1, 1, 0, 0], [1, 1, 1, 0])
        Rates(precision=0.6666666666666666, recall=1.0, f1=0.8)
    """
    empty = _empty_rate(zero_division)
    if average not in AVERAGES:
        known = ", ".join(map(str, AVERAGES))
        raise UsageError(f"average: no such average {show(average)}. Known: {known}.")
    pair = build_label_pair(true, said, sample_weight)
    if pair.mixed:
        raise RowError("label.type", "label", "one side holds texts, the other numbers. Give labels of one kind.")
    seen = pair.list_labels()
    if average == "binary":
        labels = [_find_positive(seen, pos_label)]
    hits, claimed, actual = _count_labels(pair, seen if labels is None else _list_labels(labels))
    if average == "micro":
        hits, claimed, actual = (counts.sum(keepdims=True) for counts in (hits, claimed, actual))
    rates = _divide(hits, claimed, empty), _divide(hits, actual, empty), _divide(2 * hits, claimed + actual, empty)
    if average is None:
        return Rates(*rates)
    weights = actual if average == "weighted" else None
    return Rates(*(_average(rate, weights) for rate in rates))


def _empty_rate(zero_division: float | str) -> float:
    if zero_division == "warn":
        return 0.0
    if isinstance(zero_division, float | int) and (zero_division in (0, 1) or math.isnan(zero_division)):
        return float(zero_division)
    raise UsageError(f"zero_division: expected 0, 1, nan or warn {show(zero_division)}.")


def _find_positive(seen: Array, pos_label: Any) -> Any:
    if not isinstance(pos_label, str | int | float):
        raise UsageError(f"pos_label: expected a text or a number {show(pos_label)}.")
    known = seen.tolist()
    if len(known) > 2:
        raise RowError("label.count", "label", f"{len(known)} labels occur and `binary` takes two {show(known)}.")
    if pos_label not in known and len(known) == 2:
        raise RowError("label.positive", "label", f"no label is pos_label {pos_label!r} {show(known)}.")
    return pos_label


def _list_labels(labels: Sequence[Any]) -> Array:
    try:
        asked = np.asarray(labels)
    except (ValueError, TypeError, OverflowError):
        asked = np.asarray(None)
    if asked.ndim != 1 or asked.dtype.kind not in "biufU":
        raise UsageError(f"labels: expected a list of texts or numbers {show(labels)}.")
    return asked


def _count_labels(pair: LabelPair, labels: Array) -> tuple[Floats, Floats, Floats]:
    """Count for each label how often it is rightly said, said, and true; a text is compared with texts of numbers."""
    sides = pair.true, pair.said, labels
    if len({side.dtype.kind == "U" for side in sides}) > 1:
        sides = pair.true.astype(np.str_), pair.said.astype(np.str_), labels.astype(np.str_)
    true, said = sides[0][None, :] == sides[2][:, None], sides[1][None, :] == sides[2][:, None]
    weights = np.ones(len(pair.true)) if pair.weights is None else pair.weights
    return (true & said) @ weights, said @ weights, true @ weights


def _divide(part: Floats, whole: Floats, empty: float) -> Floats:
    nothing = whole == 0
    return np.where(nothing, empty, part / np.where(nothing, 1.0, whole))


def _average(rates: Floats, weights: Floats | None) -> float:
    known = ~np.isnan(rates)
    if not known.any():
        return math.nan
    rates = rates[known]
    if weights is None or not weights[known].sum():
        return float(rates.mean())
    return float(np.average(rates, weights=weights[known]))


METRIC = precision_recall
