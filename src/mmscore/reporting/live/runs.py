"""Find the runs below a folder: predictions and how far they are, reports and their scores. Nothing is written."""

import contextlib
import json
import math
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from mmconvert.core.errors import Error
from mmconvert.io.parquet import open_parquet, read_batches
from mmconvert.storage.leases import Presence
from mmconvert.storage.processes import SEES_PROCESSES, find_beginning, identify_machine
from mmscore.core.predictions.run_metadata import RUN_METADATA
from mmscore.llm.response_cache import OK, read_progress, store_path

MAX_FILES = 20_000
"""Files that are looked at; what lies beyond is counted."""
MAX_DEPTH = 8
MAX_SHOWN = 1_000
"""Runs, and entries of reports, that the page shows; the last changed first."""
MAX_REPORT_BYTES = 64 << 20
_MAX_TEXT = 300
_MAX_ENTRIES = 500
_STORE_SUFFIX = ".answers.sqlite"
_RUN_NAME = re.compile("predictions")
_HEAD = 200
"""First bytes of a JSON file, in which a report names its version."""
_SILENCE = 120.0
"""Seconds without a change after which a run of another machine counts as stopped."""

RUNNING, STOPPED, FINISHED, PARTIAL, UNREADABLE = "running", "stopped", "finished", "partial", "cannot be read"


class Run(msgspec.Struct, frozen=True):
    """One predictions file, finished or on its way.

    Attributes:
        key: Its path below the folder.
        status: `running`, `stopped`, `finished`, `partial` or `cannot be read`.
        model: Who answers, "" where nobody says.
        dataset: Name of the dataset, "" where nobody says.
        done: Samples that have a response, or a failure.
        failed: Those of them that failed.
        total: Samples of the whole run, None where nobody says.
        changed: When it last changed, in seconds since 1970.
        has_predictions: The predictions file exists and can be scored.
        problem: Why it cannot be read, "" where it can.
    """

    key: str
    status: str
    model: str = ""
    dataset: str = ""
    done: int = 0
    failed: int = 0
    total: int | None = None
    changed: float = 0.0
    has_predictions: bool = False
    problem: str = ""


@dataclass(slots=True)
class Folder:
    """The runs and reports below a folder; what has not changed is not read again.

    Attributes:
        path: The folder, links followed.
        runs: Runs by key, as of the last look.
        left_out: Files beyond `MAX_FILES` or `MAX_DEPTH` were not looked at.
    """

    path: Path
    runs: dict[str, Run] = field(default_factory=dict)
    left_out: bool = False
    _known: dict[tuple[str, int, int, int], Any] = field(default_factory=dict)

    def look(self) -> dict[str, Any]:
        """Look at the folder now.

        Returns:
            JSON values: `folder`, `time`, `runs`, `reports`, `left_out`.
        """
        kept, self._known = self._known, {}
        outputs: dict[str, Path] = {}
        reports = []
        for file in self._list_files():
            key = file.relative_to(self.path).as_posix()
            if file.name.endswith(_STORE_SUFFIX):
                output = file.with_name(file.name.removesuffix(_STORE_SUFFIX))
                outputs[output.relative_to(self.path).as_posix()] = output
            elif file.suffix.lower() == ".parquet":
                if self._remember(kept, file, _read_predictions) is not None:
                    outputs[key] = file
            elif file.suffix.lower() == ".json" and (entries := self._remember(kept, file, _read_report)):
                reports += [{"key": key, "changed": _read_time(file), **entry} for entry in entries]
        found = (self._describe(kept, key, output) for key, output in outputs.items())
        self.runs = {run.key: run for run in sorted(found, key=lambda run: (run.status != RUNNING, -run.changed))}
        return {
            "folder": self.path.name,
            "time": time.time(),
            "runs": [msgspec.structs.asdict(run) for run in self.runs.values()][:MAX_SHOWN],
            "reports": sorted(reports, key=lambda one: -one["changed"])[:MAX_SHOWN],
            "left_out": self.left_out or max(len(self.runs), len(reports)) > MAX_SHOWN,
        }

    def find_predictions(self, key: str) -> Path | None:
        """Give the predictions file of a run that was found; None for anything else, whatever path it names."""
        run = self.runs.get(key)
        file = self.path / key
        # A folder or file that was swapped for a link since is no way out.
        is_inside = run is not None and run.has_predictions and file.resolve() == file
        return file if is_inside else None

    def list_recipes(self, key: str) -> list[str]:
        """List the recipes that the report beside a run was made with, by plain names alone."""
        report = (self.path / key).with_name("report.json")
        entries = _read_report(report) if report.is_file() and not report.is_symlink() else None
        names = (str(entry["recipe"]) for entry in entries or ())
        # A name with a path or a file in it would be a plug-in of the folder: data must not run.
        return [name for name in dict.fromkeys(names) if name.replace("_", "").isalnum() and name.isascii()]

    def _list_files(self) -> Iterator[Path]:
        """List plain files below the folder, no link followed, no hidden folder entered."""
        seen = 0
        self.left_out = False
        for place, folders, names in os.walk(self.path, followlinks=False):
            depth = len(Path(place).relative_to(self.path).parts)
            hidden = [name for name in folders if name.startswith(".")]
            folders[:] = sorted(name for name in folders if name not in hidden) if depth < MAX_DEPTH else []
            for name in sorted(names):
                seen += 1
                if seen > MAX_FILES:
                    self.left_out = True
                    return
                file = Path(place, name)
                if not name.startswith(".") and not file.is_symlink() and file.is_file():
                    yield file

    def _remember(self, kept: Mapping[tuple[str, int, int, int], Any], file: Path, read: Any) -> Any:
        try:
            status = file.stat()
        except OSError:
            return None
        stamp = (str(file), status.st_ino, status.st_mtime_ns, status.st_size)
        found = kept[stamp] if stamp in kept else read(file)
        self._known[stamp] = found
        return found

    def _describe(self, kept: Mapping[tuple[str, int, int, int], Any], key: str, output: Path) -> Run:
        store = store_path(output)
        is_there = output.is_file() and not output.is_symlink()
        facts = self._remember(kept, output, _read_predictions) if is_there else None
        is_running = store.is_file() and _is_running(store)
        changed = max(map(_read_time, (output, store, store.with_name(f"{store.name}-wal"))))
        if is_there and facts is not None and not is_running:
            return _describe_finished(key, facts, changed)
        if not store.is_file() or store.is_symlink():
            return Run(key, UNREADABLE, changed=changed, problem=(facts or {}).get("problem", ""))
        status = RUNNING if is_running else STOPPED
        try:
            progress = read_progress(store)
        except Error as error:
            return Run(key, status if is_running else UNREADABLE, changed=changed, problem=_cut(str(error)))
        total = _read_count(progress.run.get("rows"))
        done = progress.ok + progress.failed
        return Run(
            key,
            status,
            _cut(progress.run.get("model")),
            _cut(progress.run.get("dataset")),
            # A store may hold answers of settings before these.
            done if total is None else min(done, total),
            progress.failed,
            total,
            changed,
            has_predictions=facts is not None and not facts.get("problem"),
        )


def _describe_finished(key: str, facts: Mapping[str, Any], changed: float) -> Run:
    if facts.get("problem"):
        return Run(key, UNREADABLE, changed=changed, problem=facts["problem"])
    status = PARTIAL if facts["partial"] else FINISHED
    total = facts["dataset_rows"] if facts["partial"] and facts["dataset_rows"] else facts["rows"]
    return Run(
        key,
        status,
        facts["model"],
        facts["dataset"],
        facts["rows"],
        facts["failed"],
        total,
        changed,
        has_predictions=True,
    )


def _read_predictions(file: Path) -> dict[str, Any] | None:
    """Read what a predictions file says of itself; None for other tables."""
    try:
        with contextlib.closing(open_parquet(file)) as parquet:
            schema = parquet.schema_arrow
            # A dataset has a column for predictions, too, and holds images beside it.
            if not {"id", "prediction"} <= {*schema.names} or "images" in schema.names:
                return None
            about = json.loads((schema.metadata or {}).get(RUN_METADATA, b"{}"))
            about = about if isinstance(about, dict) else {}
            first = _read_first(file, [name for name in ("model", "dataset") if name in schema.names])
            return {
                "rows": parquet.metadata.num_rows,
                "dataset_rows": _read_count(about.get("rows")),
                "partial": about.get("interrupted") is True,
                "model": _cut(first.get("model") or about.get("model")),
                "dataset": _cut(first.get("dataset")),
                "failed": _count_failed(file, schema.names),
            }
    except (Error, OSError, ValueError, RecursionError, pa.ArrowException) as error:
        # Another damaged table is none of our business.
        return {"problem": _cut(str(error))} if _RUN_NAME.search(file.name) else None


def _read_first(file: Path, names: Sequence[str]) -> dict[str, Any]:
    """Read the first row of some columns."""
    batch = next(read_batches(file, names, most_rows=1), None) if names else None
    return {} if batch is None or not batch.num_rows else dict(batch.slice(0, 1).to_pylist()[0])


def _count_failed(file: Path, names: Sequence[str]) -> int:
    if "prediction_status" not in names:
        return 0
    batches = (batch.column(0).cast(pa.string()) for batch in read_batches(file, ["prediction_status"]))
    return sum(pc.sum(pc.not_equal(column, OK)).as_py() or 0 for column in batches)


def _read_report(file: Path) -> list[dict[str, Any]] | None:
    """Read the scores of a report; None for any other JSON."""
    try:
        with file.open("rb") as opened:
            if b'"schema_version"' not in opened.read(_HEAD) or file.stat().st_size > MAX_REPORT_BYTES:
                return None
            opened.seek(0)
            report = msgspec.json.decode(opened.read(MAX_REPORT_BYTES))
        entries = report.get("entries")
        return [_summarize(entry) for entry in entries[:_MAX_ENTRIES]] if isinstance(entries, list) else None
    except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError, msgspec.MsgspecError):
        return None


def _summarize(entry: Mapping[str, Any]) -> dict[str, Any]:
    metrics: Mapping[str, Mapping[str, Any]] = entry["metrics"]
    name, metric = next(iter(metrics.items()), ("", {}))
    interval = metric.get("ci95")
    counts = entry["counts"]
    return {
        **{field: _cut(entry.get(field)) for field in ("model", "dataset", "recipe", "version", "predictions")},
        "metric": _cut(name),
        "value": _read_metric(metric.get("value")),
        "ci95": [_read_metric(end) for end in interval] if isinstance(interval, list) and len(interval) == 2 else None,
        "unit": _cut(metric.get("unit")),
        "n": _read_count(metric.get("n")),
        "unparsed": _read_count(counts.get("unparsed")),
    }


def _is_running(store: Path) -> bool:
    """Tell whether a process that holds a store is alive."""
    lock = store.with_name(f"{store.name}.lock")
    members = store.parent.glob(f"{_escape_glob(store.name)}.member-*")
    return any(_is_alive(file) for file in (lock, *members) if not file.is_symlink())


def _escape_glob(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _is_alive(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            presence, touched = Presence.read(opened.read(10_000)), os.fstat(opened.fileno()).st_mtime
    except (OSError, RecursionError):
        return False
    # The file may be a stranger's, and hold anything.
    pid: object = presence.pid
    if not isinstance(pid, int) or pid <= 0:
        return False
    if SEES_PROCESSES and presence.machine == identify_machine():
        return find_beginning(pid) == presence.began
    return time.time() - touched < _SILENCE


def _read_time(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _read_count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 else None


def _read_metric(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None  # type: ignore[arg-type]


def _cut(value: object) -> str:
    text = value if isinstance(value, str) else "" if value is None else str(value)[: _MAX_TEXT + 1]
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"
