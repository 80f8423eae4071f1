"""The log that MMTrustEval's task runner writes: numbers over all samples and over each subset, then the samples."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mmconvert.core.errors import Error, RowError, show

TOTAL, SAMPLES = "total_results", "per_sample_results"
SUBSET = "subset"


def build_log(
    columns: Mapping[str, Sequence[Any]], run: Callable[[Sequence[int]], Mapping[str, Any]]
) -> dict[str, Any]:
    """Lay out samples and what was found over them as the runner saves it.

    A column in which nothing is true is left out, references that are all 0 among them. Where the first `extra`
    holds `subset` all must, and every number is given for each subset too, as `key_subset`.

    Args:
        columns: `content`, `pred`, `label` and `extra`, one value a sample.
        run: Numbers of samples -> key -> number, or a list of one value for each of them.

    Returns:
        `total_results`, key -> number, and `per_sample_results`, one mapping a sample.

    Raises:
        Error: There are no samples, no columns, columns of several lengths, a subset is missing, or a value
            is of a type that an evaluator or a metric does not take.

    Parity: thu-ml/MMTrustEval@a067801 mmte/tasks/base.py:BaseTask.eval, BaseTask.save_results.

    Example:
        >>> samples = {"content": ["Is it?"], "pred": ["Yes"], "label": [1], "extra": [None]}
        >>> build_log(samples, lambda numbers: {"rule_yes_or_no_eval:pred_mean": 1})
        {'total_results': {'rule_yes_or_no_eval:pred_mean': 1.0},
         'per_sample_results': [{'content': 'Is it?', 'pred': 'Yes', 'label': 1}]}
    """
    if not columns["extra"]:
        raise Error("there are no answered samples, and the framework's runner needs one.")
    found = dict(run(range(len(columns["extra"]))))
    for subset, numbers in _group_subsets(columns["extra"]).items():
        found |= {f"{key}_{subset}": value for key, value in run(numbers).items() if not _is_column(value)}
    found |= {name: values for name, values in columns.items() if any(values)}
    scattered = {key: value for key, value in found.items() if _is_column(value)}
    if len({len(values) for values in scattered.values()}) != 1:
        raise Error("the log has no column, or columns of several lengths. Add pred_no_op to a chain.")
    rows = [dict(zip(scattered, values, strict=True)) for values in zip(*scattered.values(), strict=True)]
    return {
        TOTAL: {
            key: _read_number(key, value) for key, value in found.items() if key not in scattered and value is not None
        },
        SAMPLES: rows,
    }


def _group_subsets(extras: Sequence[Any]) -> dict[Any, list[int]]:
    first = extras[0]
    if first is None or (isinstance(first, str | list | Mapping) and SUBSET not in first):
        return {}
    subsets: dict[Any, list[int]] = {}
    for number, extra in enumerate(extras):
        if not isinstance(extra, Mapping) or SUBSET not in extra:
            message = f"sample {number} has none {show(extra)}. Give every sample one, or none."
            raise RowError("subset.missing", SUBSET, message)
        if not isinstance(extra[SUBSET], str | int | float | None):
            raise RowError("subset.type", SUBSET, f"expected a text {show(extra[SUBSET])}.")
        subsets.setdefault(extra[SUBSET], []).append(number)
    if not any(subsets):
        raise RowError("subset.missing", SUBSET, "no sample has one. Leave the field out.")
    return subsets


def _is_column(value: Any) -> bool:
    return isinstance(value, Sequence)


def _read_number(key: str, value: Any) -> float:
    if isinstance(value, np.ndarray):
        raise Error(f"{key}: is one number a label, which the framework's log cannot hold. Choose an average.")
    return float(value)


def format_log(log: Mapping[str, Any]) -> str:
    """Write a log as the framework does: indented by four, ASCII only, NaN bare.

    Example:
        >>> print(format_log({"total_results": {"a:pred_mean": float("nan")}, "per_sample_results": []}))
        {
            "total_results": {
                "a:pred_mean": NaN
            },
            "per_sample_results": []
        }
    """
    return json.dumps(log, indent=4)
