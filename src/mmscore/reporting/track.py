"""Log scores to trackers of experiments; whatever these do, no score is lost."""

import contextlib
import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmconvert.core.errors import UsageError, take_first_line
from mmscore.core.report import Entry, publish
from mmscore.reporting.tracker import TrackedScore, Tracker, build_tracked_score
from mmscore.reporting.trackers import mlflow, tensorboard, trackio, wandb

TRACKERS = {one.name: one for one in (wandb.TRACKER, trackio.TRACKER, mlflow.TRACKER, tensorboard.TRACKER)}


def choose_trackers(names: Sequence[str]) -> list[Tracker]:
    """Find trackers by their names, each once, and see that they are installed.

    Raises:
        UsageError: A name is unknown, or a package is missing.
    """
    for name in names:
        if name not in TRACKERS:
            raise UsageError(f"--log {name}: is no tracker. Known: {', '.join(TRACKERS)}.")
    found = [TRACKERS[name] for name in dict.fromkeys(names)]
    for tracker in found:
        tracker.require()
    return found


def log_scores(
    trackers: Sequence[Tracker],
    scored: Iterable[tuple[Entry, Mapping[str, Any]]],
    project: str,
    tell: Callable[[str], None],
    *,
    logged: Path | None = None,
) -> None:
    """Log scores, a run each.

    Args:
        trackers: Where to.
        scored: Entries of reports, each with what the run that wrote the predictions says of itself.
        project: The trackers' project or experiment.
        tell: Told where each run is, and of a tracker that fails.
        logged: File that keeps what was logged, so that the same score is not logged twice; None for none.
    """
    known = _read_logged(logged)
    for entry, run in scored:
        score = build_tracked_score(entry, run, project)
        for tracker in trackers:
            mark = hashlib.sha256(f"{tracker.name} {project} {score.report}".encode()).hexdigest()
            if mark in known:
                continue
            if _log(tracker, score, tell) and logged is not None:
                known.append(mark)
                publish(logged, json.dumps(known).encode())


def _log(tracker: Tracker, score: TrackedScore, tell: Callable[[str], None]) -> bool:
    try:
        # Standard output is for the report.
        with contextlib.redirect_stdout(sys.stderr):
            place = tracker.log(score)
    except Exception as error:  # whatever a library raises
        said = take_first_line(error) or type(error).__name__
        tell(f"{tracker.name}: {score.name} could not be logged ({said}). The report has the score.")
        return False
    tell(f"{tracker.name}: {score.name} logged: {place}")
    return True


def _read_logged(file: Path | None) -> list[str]:
    if file is None or not file.is_file():
        return []
    try:
        found = json.loads(file.read_bytes())
    except ValueError:
        return []
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
