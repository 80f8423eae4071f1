"""A report that `mmscore -o FILE` wrote, read again."""

import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from mmconvert.core.errors import Error, show, take_first_line
from mmconvert.io import json_head, json_object
from mmconvert.storage.source_files import read_source
from mmscore.core.estimates import Estimate
from mmscore.core.report import SCHEMA_VERSION, Counts, Entry, Judging

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
        report = json.loads(read_source(Path(path)), parse_constant=_reject_constant)
        version = report["schema_version"]
        entries = _list(report["entries"]) if version == SCHEMA_VERSION else []
        found = tuple(map(_read_entry, entries))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise Error(
            f"{path}: is not a report that mmscore wrote ({take_first_line(error)}). Score again with -o."
        ) from None
    if version != SCHEMA_VERSION:
        raise Error(f"{path}: has schema version {version}; this program knows {SCHEMA_VERSION}. Upgrade mmconvert.")
    if not found:
        raise Error(f"{path}: is a report without an entry. Score again with -o.")
    return found


def _reject_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


def _read_entry(facts: dict[str, Any]) -> Entry:
    texts = ("recipe", "version", "parity", "reason", "model", "signature", "predictions")
    counts = {name: _read_count(number) for name, number in facts["counts"].items()}
    metrics, without_failures = (
        {_read_text(name): _read_estimate(metric) for name, metric in found.items()}
        for found in (facts["metrics"], facts.get("without_failures", {}))
    )
    recipe, version, parity, reason, model, signature, predictions = (_read_text(facts[name]) for name in texts)
    return Entry(
        recipe,
        version,
        parity,
        reason,
        metrics,
        groups={},
        model=model,
        signature=signature,
        predictions=predictions,
        without_failures=without_failures,
        counts=Counts(**counts),
        partial=_require_type(bool, facts["partial"]),
        dataset=_read_optional(_read_text, facts["dataset"]),
        table=[dict(line) for line in _list(facts["table"])],
        messages=[_read_text(message) for message in _list(facts["messages"])],
        method=_read_optional(_read_text, facts.get("method")),
        notes=tuple(_read_text(note) for note in _list(facts.get("notes", []))),
        judging=_read_optional(_read_judging, facts.get("judging")),
    )


def _read_judging(facts: Any) -> Judging:
    judging = msgspec.convert(facts, Judging)
    for named in (one for pair in judging.agreement for one in pair.judges):
        _read_text(named)
    for usage in judging.usage:
        for text in (usage.judge, usage.model, usage.currency, usage.prices_of, usage.priced_as):
            _read_optional(_read_text, text)
    return judging


def _read_estimate(facts: dict[str, Any]) -> Estimate:
    value, interval = _read_optional(_read_number, facts["value"]), _read_optional(_list, facts["ci95"])
    return Estimate(
        value=float("nan") if value is None else value,
        n=_read_count(facts["n"]),
        stderr=_read_optional(_read_number, facts["stderr"]),
        ci95=None if interval is None else (_read_number(interval[0]), _read_number(interval[1])),
        unit=_read_text(facts["unit"]),
        higher_is_better=_read_optional(partial(_require_type, bool), facts["higher_is_better"]),
    )


def _read_optional(read: Callable[[Any], _T], facts: Any) -> _T | None:
    return None if facts is None else read(facts)


def _require_type(kind: type[_T], facts: Any) -> _T:
    if not isinstance(facts, kind) or (isinstance(facts, bool) and kind is not bool):
        raise TypeError(f"expected {_KINDS[kind]} {show(facts)}")
    return facts


def _list(facts: Any) -> list[Any]:
    return _require_type(list, facts)


def _read_text(facts: Any) -> str:
    # A half of a surrogate pair is not a text that could be written again.
    return _require_type(str, facts).encode().decode()


def _read_count(facts: Any) -> int:
    return _require_type(int, facts)


def _read_number(facts: Any) -> float:
    number = facts if isinstance(facts, float) else float(_require_type(int, facts))
    if not math.isfinite(number):
        raise ValueError(f"expected a finite number {show(facts)}")
    return number
