"""A report that `mmscore -o FILE` wrote, read again."""

import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from mmconvert.core.errors import Error, first_line, got
from mmconvert.io import json_head, json_object
from mmscore.core.estimates import Estimate
from mmscore.core.report import SCHEMA_VERSION, Counts, Entry

_SUFFIX = ".json"
_MARKS = ("schema_version", "entries")
_KINDS = {str: "a text", bool: "true or false", int: "a number", list: "a list"}

_T = TypeVar("_T")


def is_report(path: str | Path) -> bool:
    """Tell a report from a file of predictions, by the names in it.

    Raises:
        Error: The file ends in `.json` and is damaged.
    """
    place = Path(path)
    if place.suffix.lower() != _SUFFIX or not place.is_file() or not json_head.is_object(place):
        return False
    head = json_object.head(place)
    return all(name in head for name in _MARKS)


def read_report(path: str | Path) -> tuple[Entry, ...]:
    """Read the entries of a report, their groups left out.

    Raises:
        Error: The file is damaged, has no entry, or is of a later version.
    """
    try:
        report = json.loads(Path(path).read_bytes(), parse_constant=_refused)
        version = report["schema_version"]
        entries = _list(report["entries"]) if version == SCHEMA_VERSION else []
        found = tuple(map(_entry, entries))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise Error(f"{path}: is no report that mmscore wrote ({first_line(error)}). Score anew with -o.") from None
    if version != SCHEMA_VERSION:
        raise Error(f"{path}: has schema version {version}; this program knows {SCHEMA_VERSION}. Upgrade mmconvert.")
    if not found:
        raise Error(f"{path}: is a report without an entry. Score anew with -o.")
    return found


def _refused(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _entry(told: dict[str, Any]) -> Entry:
    texts = ("recipe", "version", "parity", "reason", "model", "signature", "predictions")
    counts = {name: _count(number) for name, number in told["counts"].items()}
    return Entry(
        **{name: _text(told[name]) for name in texts},
        metrics={_text(name): _estimate(metric) for name, metric in told["metrics"].items()},
        groups={},
        counts=Counts(**counts),
        partial=_of(bool, told["partial"]),
        dataset=_or_none(_text, told["dataset"]),
        table=[dict(line) for line in _list(told["table"])],
        messages=[_text(message) for message in _list(told["messages"])],
        method=_or_none(_text, told.get("method")),
    )


def _estimate(told: dict[str, Any]) -> Estimate:
    value, interval = _or_none(_number, told["value"]), _or_none(_list, told["ci95"])
    return Estimate(
        value=float("nan") if value is None else value,
        n=_count(told["n"]),
        stderr=_or_none(_number, told["stderr"]),
        ci95=None if interval is None else (_number(interval[0]), _number(interval[1])),
        unit=_text(told["unit"]),
        higher_is_better=_or_none(partial(_of, bool), told["higher_is_better"]),
    )


def _or_none(read: Callable[[Any], _T], told: Any) -> _T | None:
    return None if told is None else read(told)


def _of(kind: type[_T], told: Any) -> _T:
    if not isinstance(told, kind) or (isinstance(told, bool) and kind is not bool):
        raise TypeError(f"expected {_KINDS[kind]} {got(told)}")
    return told


def _list(told: Any) -> list[Any]:
    return _of(list, told)


def _text(told: Any) -> str:
    # A half of a surrogate pair is no text that could be written again.
    return _of(str, told).encode().decode()


def _count(told: Any) -> int:
    return _of(int, told)


def _number(told: Any) -> float:
    number = told if isinstance(told, float) else float(_of(int, told))
    if not math.isfinite(number):
        raise ValueError(f"expected a finite number {got(told)}")
    return number
