"""Every metric that holds predictions against references, as a metric of Hugging Face's `evaluate`.

`evaluate.load` takes the path of this file and the metric's name, and reaches no network:

```python
import evaluate
import mmscore.scoring.hf_evaluate as adapter

metric = evaluate.load(adapter.__file__, "evalscope_bleu_rouge")
metric.compute(predictions=["a cat"], references=["the cat"], version="1.14.1")
```

A metric of one row is averaged over the rows; rows that it leaves out do not count. A metric of all rows
gives what it gives. Any other argument of the function is an option of `compute`: one value for all rows,
or, for a metric of one row, a list with one value each. Needs the extra `evaluate`.
"""

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import datasets
import evaluate
import msgspec
import numpy as np

from mmconvert.core.errors import UsageError, suggest_spelling
from mmconvert.plugins.registry import find_plugins, load
from mmscore.core.estimates import compute_mean

GROUP = "mmscore.metrics"

SAID = ("prediction", "predictions", "extracted", "parsed", "said")
"""Names of the parameter that takes predictions."""

MEANT = ("reference", "references", "target", "gold", "true")
"""Names of the parameter that takes references."""

WHOLE = ("predictions", "said")
"""Those of `SAID` that take all rows at once."""

_PLAIN = tuple(map(datasets.Value, ("string", "int64", "float64")))
_KINDS = (*_PLAIN, *map(datasets.List, _PLAIN))

Function = Callable[..., Any]


def adapt_metric(name: str | None) -> tuple[Function, str, str]:
    """Find a metric that `evaluate` can call.

    Args:
        name: Name of a metric, as `mmscore list metrics` shows it.

    Returns:
        The function, its parameter for predictions and that for references.

    Raises:
        UsageError: No metric was named, there is none of this name, or it works on something else than
            predictions and references.

    Example:
        >>> adapt_metric("normalized_match")[1:]
        ('prediction', 'references')
    """
    known = find_plugins(GROUP)
    if name not in known:
        raise UsageError(
            f"{name!r}: no such metric.{suggest_spelling(str(name), known)} Name one: evaluate.load(path, NAME), "
            f"where NAME is one of {', '.join(known)}."
        )
    function: Function = load(GROUP, str(name))
    parameters = inspect.signature(function).parameters
    said = next((parameter for parameter in parameters if parameter in SAID), None)
    meant = next((parameter for parameter in parameters if parameter in MEANT), None)
    if said is None or meant is None:
        takes = ", ".join(parameters)
        raise UsageError(f"{name!r}: takes {takes}, no predictions and references. Call mmscore.metrics.{name} itself.")
    return function, said, meant


def compute(name: str, predictions: Sequence[Any], references: Sequence[Any], **options: Any) -> dict[str, Any]:
    """Give the numbers of a metric over all rows.

    Args:
        name: Name of a metric.
        predictions: One a row, of the kind that the metric takes.
        references: Likewise.
        options: Further arguments of the function.

    Returns:
        The metric's name and its number; several numbers have their own names, or count from 1 behind the
        metric's. Fractions are 0-1 and nothing is rounded; NaN over no rows.

    Raises:
        UsageError: As `adapt_metric`; or the metric has no such option.

    Example:
        >>> compute("normalized_match", ["two", "a dog"], [["2"], ["cat"]])
        {'normalized_match': 0.5}
    """
    function, said, meant = adapt_metric(name)
    known = set(inspect.signature(function).parameters) - {said, meant}
    for option in options:
        if option not in known:
            hint = suggest_spelling(option, known)
            raise UsageError(f"{name}: has no option {option!r}.{hint} Known: {', '.join(sorted(known)) or 'none'}.")
    if said in WHOLE:
        return _name_results(name, function(**{said: predictions, meant: references}, **options))
    rows = zip(predictions, references, _spread_options(options, len(predictions)), strict=True)
    found = [_name_results(name, function(**{said: one, meant: other}, **own)) for one, other, own in rows]
    names = dict.fromkeys(key for row in found for key in row)
    return {key: compute_mean([row.get(key, np.nan) for row in found]).value for key in names} or {name: float("nan")}


def _spread_options(options: Mapping[str, Any], rows: int) -> list[dict[str, Any]]:
    """Spread options over the rows; a list of as many values gives each row its own."""
    listed = {key for key, value in options.items() if isinstance(value, list) and len(value) == rows}
    return [{key: value[row] if key in listed else value for key, value in options.items()} for row in range(rows)]


def _name_results(name: str, result: Any) -> dict[str, Any]:
    """Name the numbers of a result, whatever it is: a number, an array of one a row, a list, a mapping, fields."""
    if result is None:
        return {}
    if isinstance(result, Mapping):
        return {str(key): float(value) for key, value in result.items()}
    if isinstance(result, msgspec.Struct):
        return msgspec.structs.asdict(result)
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        return dataclasses.asdict(result)
    if isinstance(result, np.ndarray):
        return {name: compute_mean(result).value}
    if isinstance(result, Sequence):
        return {f"{name}_{number}": float(value) for number, value in enumerate(result, 1)}
    return {name: float(result)}


class ScoreMetric(evaluate.Metric):  # type: ignore[misc]
    """The class that `evaluate.load` finds in this file; `config_name` is the metric's name."""

    def _info(self) -> evaluate.MetricInfo:
        function, _, _ = adapt_metric(self.config_name)
        return evaluate.MetricInfo(
            description=inspect.getdoc(function) or "",
            citation="",
            inputs_description="predictions and references, one a row",
            features=[datasets.Features(predictions=said, references=meant) for said in _KINDS for meant in _KINDS],
        )

    def _compute(self, predictions: Sequence[Any], references: Sequence[Any], **options: Any) -> dict[str, Any]:
        return compute(str(self.config_name), list(predictions), list(references), **options)
