"""MMTrustEval's ten metrics by their ids: references and processed predictions to a number or a list."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np

from mmconvert.core.errors import RowError, UsageError, show, suggest_spelling
from mmscore.metrics.label_accuracy import label_accuracy
from mmscore.metrics.mmtrust_box_iou import mmtrust_box_iou
from mmscore.metrics.mmtrust_pearson import convert_to_float32, mmtrust_pearson
from mmscore.metrics.precision_recall import precision_recall

Values = Sequence[Any]
_Reduced = TypeVar("_Reduced")
COLUMN = "pred_no_op"
"""The metric that is not a number but the column of processed predictions."""


class Measure(msgspec.Struct, frozen=True):
    """One metric.

    Attributes:
        compute: (references, predictions, settings by name) -> its value.
        settings: Names of its settings.
        unit: Unit of the value in a report; None for that of the predictions.
        higher_is_better: Direction of progress; None where the framework's tasks differ in it.
        labelled: It looks at the references.
    """

    compute: Callable[..., Any]
    settings: frozenset[str] = frozenset()
    unit: str | None = "fraction"
    higher_is_better: bool | None = None
    labelled: bool = False


def _build_column(true: Values | None, said: Values) -> list[Any]:
    return list(said)


def _compute_sum(true: Values | None, said: Values | None) -> float | None:
    # NumPy's sum of a single object is that object, so None is the sum of None.
    return _reduce(said, lambda values: None if (total := values.sum()) is None else float(total))


def _compute_mean(true: Values | None, said: Values | None) -> float:
    return _reduce(said, lambda values: float(values.mean()) if values.size else math.nan)


def _reduce(said: Values | None, reduce: Callable[[Any], _Reduced]) -> _Reduced:
    try:
        with np.errstate(all="ignore"):
            return reduce(np.array(said))
    except (TypeError, ValueError):  # texts, None beside numbers; lists of several lengths
        raise RowError(
            "pred.number", "pred", f"expected numbers {show(said)}. Add a rule that turns texts into numbers."
        ) from None


def count_failures(true: Values | None, said: Values, fails_num: float = math.nan) -> float:
    """Count predictions that failed.

    Args:
        true: Not looked at.
        said: Numbers, texts of numbers, or None for NaN; rows of them count number by number.
        fails_num: The number that stands for a failure.

    Returns:
        Share, 0 to 1, of predictions that are the number, in single precision; NaN for none at all.

    Raises:
        RowError: A prediction is not a number.
        UsageError: `fails_num` is none.

    Parity: thu-ml/MMTrustEval@a067801 mmte/evaluators/metrics.py:failure.

    Example:
        >>> count_failures(None, [0.0, math.nan]), count_failures(None, [0.0, math.nan], fails_num=0)
        (0.5, 0.5)
    """
    if not isinstance(fails_num, int | float):
        raise UsageError(f"fails_num: expected a number {show(fails_num)}.")
    numbers = convert_to_float32(said, "pred", rows=True)
    failed = np.isnan(numbers) if math.isnan(fails_num) else numbers == np.float32(fails_num)
    return float(failed.mean()) if failed.size else math.nan


def _compute_precision(true: Values | None, said: Values, **settings: Any) -> Any:
    return precision_recall(true, said, **settings).precision


def _recall(true: Values | None, said: Values, **settings: Any) -> Any:
    return precision_recall(true, said, **settings).recall


def _compute_f1(true: Values | None, said: Values, **settings: Any) -> Any:
    return precision_recall(true, said, **settings).f1


_RATE_SETTINGS = frozenset(("labels", "pos_label", "average", "sample_weight", "zero_division"))

MEASURES: Mapping[str, Measure] = {
    COLUMN: Measure(_build_column),
    "pred_sum": Measure(_compute_sum, unit="points"),
    "pred_mean": Measure(_compute_mean, unit=None),
    "accuracy_score": Measure(label_accuracy, frozenset(("normalize", "sample_weight")), "fraction", True, True),
    "precision_score": Measure(_compute_precision, _RATE_SETTINGS, "fraction", True, True),
    "recall_score": Measure(_recall, _RATE_SETTINGS, "fraction", True, True),
    "f1_score": Measure(_compute_f1, _RATE_SETTINGS, "fraction", True, True),
    "pearson_corr": Measure(mmtrust_pearson, frozenset(("nan_to_num",)), "fraction", True, True),
    "failure": Measure(count_failures, frozenset(("fails_num",)), "fraction", False),
    "iou_judge": Measure(mmtrust_box_iou, frozenset(), "percent", True, True),
}
"""Metric id -> metric."""


def find_measure(name: str) -> Measure:
    """Find a metric.

    Raises:
        UsageError: No metric has the id.

    Example:
        >>> find_measure("pred_sum").unit
        'points'
    """
    if name not in MEASURES:
        hint = suggest_spelling(name, MEASURES)
        raise UsageError(f"metrics_cfg: no metric {name!r}.{hint} Known: {', '.join(MEASURES)}.")
    return MEASURES[name]


def compute_measure(name: str, true: Values | None, said: Values, settings: Mapping[str, Any]) -> Any:
    """Compute one metric.

    Args:
        name: Its id.
        true: References.
        said: Processed predictions.
        settings: As in `metrics_cfg`.

    Returns:
        A number; a list for `pred_no_op`; an array of one number a label where nothing is averaged.

    Raises:
        UsageError: The id or a setting is unknown.
        RowError: The metric cannot be computed of such values.

    Example:
        >>> compute_measure("pred_mean", None, [1, 0, 0, 1], {})
        0.5
    """
    found = find_measure(name)
    check_settings(name, settings, found.settings)
    return found.compute(true, said, **settings)


def check_settings(name: str, settings: Any, known: frozenset[str]) -> None:
    """Refuse settings that are no mapping, or hold a name that is not known.

    Args:
        name: Whose settings, for the message.
        settings: What the user gave.
        known: Names of the settings.

    Raises:
        UsageError: See above.
    """
    if not isinstance(settings, Mapping):
        raise UsageError(f"{name}: expected settings by name {show(settings)}. Write {{}} for none.")
    for setting in settings:
        if setting not in known:
            hint = suggest_spelling(str(setting), known)
            listed = ", ".join(sorted(known)) or "none"
            raise UsageError(f"{name}: no setting {setting!r}.{hint} Known: {listed}.")
