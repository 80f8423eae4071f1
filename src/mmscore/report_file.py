"""A report that `mmscore -o FILE` wrote, read again."""

import json
from pathlib import Path
from typing import Any

from mmconvert.errors import Error, first_line
from mmconvert.sources import json_head, json_object
from mmscore.report import SCHEMA_VERSION, Counts, Entry
from mmscore.stats import Estimate

_SUFFIX = ".json"
_MARKS = ("schema_version", "entries")


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
        Error: The file is damaged, or of a later version.
    """
    try:
        report = json.loads(Path(path).read_bytes())
        version = report["schema_version"]
        if version == SCHEMA_VERSION:
            return tuple(map(_entry, report["entries"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Error(f"{path}: is no report that mmscore wrote ({first_line(error)}). Score anew with -o.") from None
    raise Error(f"{path}: has schema version {version}; this program knows {SCHEMA_VERSION}. Upgrade mmconvert.")


def _entry(told: dict[str, Any]) -> Entry:
    names = ("recipe", "version", "parity", "reason", "partial", "model", "dataset", "signature", "predictions")
    return Entry(
        **{name: told[name] for name in names},
        metrics={name: _estimate(metric) for name, metric in told["metrics"].items()},
        groups={},
        counts=Counts(**told["counts"]),
        table=[dict(line) for line in told["table"]],
        messages=told["messages"],
        method=told.get("method"),
    )


def _estimate(told: dict[str, Any]) -> Estimate:
    interval = told["ci95"]
    return Estimate(
        value=float("nan") if told["value"] is None else told["value"],
        n=told["n"],
        stderr=told["stderr"],
        ci95=None if interval is None else (interval[0], interval[1]),
        unit=told["unit"],
        higher_is_better=told["higher_is_better"],
    )
