"""What a tracker of experiments is given of a score: the contract of the files in `mmscore/reporting/trackers`."""

import importlib.util
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import asdict

from mmconvert._version import __version__
from mmconvert.core.errors import UsageError
from mmscore.core.report import CSV_COLUMNS, Entry, Report, drop_infinite, json_text

PROJECT = "mmscore"
"""Project where the user names none."""


class TrackedScore(msgspec.Struct, frozen=True):
    """The score of one file under one recipe, as a run of a tracker.

    Attributes:
        project: The tracker's project or experiment.
        name: Name of the run: model, dataset and recipe.
        scores: Values by `DATASET/RECIPE/METRIC`; the same name with `.stderr`, `.ci_low`, `.ci_high` or `.n` behind it
            has what belongs to each.
        config: What the numbers depend on: recipe, signature, counts of rows, options of the run.
        columns: Columns of the table.
        table: Every metric of the whole and of each group, a row each; None where a number does not exist.
        report: The report, JSON.
    """

    project: str
    name: str
    scores: Mapping[str, float]
    config: Mapping[str, str | int | float | bool | None]
    columns: Sequence[str]
    table: Sequence[Sequence[Any]]
    report: str


class Tracker(msgspec.Struct, frozen=True):
    """A tracker of experiments, the constant `TRACKER` of its file.

    Attributes:
        name: What `--log` calls it, which is also the extra that installs it.
        package: The package that it needs.
        log: Logs a run, and says where it is. It may raise anything.
    """

    name: str
    package: str
    log: Callable[[TrackedScore], str]

    def require(self) -> None:
        """Refuse a tracker that is not installed.

        Raises:
            UsageError: Its package is missing.
        """
        found = importlib.util.find_spec(self.package)
        # A folder of that name is no package.
        if found is None or found.origin is None:
            raise UsageError(
                f'--log {self.name}: needs the package {self.package}. Install it: pip install "mmconvert[{self.name}]"'
            )


def build_tracked_score(entry: Entry, run: Mapping[str, Any], project: str) -> TrackedScore:
    """Build what trackers are given of a score.

    Args:
        entry: The score.
        run: What the run that wrote the predictions says of itself.
        project: The tracker's project.
    """
    dataset = entry.dataset or "dataset"
    scores: dict[str, float] = {}
    for metric, one in entry.metrics.items():
        low, high = one.ci95 or (None, None)
        found = {"": one.value, ".stderr": one.stderr, ".ci_low": low, ".ci_high": high, ".n": one.n}
        scores |= {
            f"{dataset}/{entry.recipe}/{metric}{end}": float(value)
            for end, value in found.items()
            if value is not None and math.isfinite(value)
        }
    about = {name: getattr(entry, name) for name in ("model", "dataset", "recipe", "version", "parity", "method")}
    about |= {"partial": entry.partial, "signature": entry.signature, "fingerprint": entry.fingerprint}
    about |= {"mmscore": __version__, "predictions": entry.predictions}
    nested = {"counts": asdict(entry.counts), "run": run}
    report = Report((entry,))
    return TrackedScore(
        project,
        f"{entry.model} {dataset} {entry.recipe}@{entry.version}",
        scores,
        about | flatten(nested),
        CSV_COLUMNS,
        [[drop_infinite(value) for value in line] for line in report.lines()],
        json_text(report.to_json()) + "\n",
    )


def flatten(values: Mapping[str, Any], before: str = "") -> dict[str, str | int | float | bool | None]:
    """Give nested values by dotted names; a list, and a number that is none, as a text.

    Example:
        >>> flatten({"run": {"seed": 1, "stop": ["a"], "generation": {"top_p": None}}})
        {'run.seed': 1, 'run.stop': '["a"]', 'run.generation.top_p': None}
    """
    found: dict[str, str | int | float | bool | None] = {}
    for key, value in values.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping):
            found |= flatten(value, f"{name}.")
        elif value is None or (isinstance(value, str | int | float) and drop_infinite(value) is not None):
            found[name] = value
        else:
            found[name] = json.dumps(value, ensure_ascii=False, default=str)
    return found
