"""Say on standard error how far a run is: a bar on a terminal, a line now and then in a log, nothing when quiet."""

import contextlib
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from mmconvert.core.text.printable import escape_control

_SECONDS_BEFORE = 0.5
"""A run that is shorter shows no bar, and does not wait for `rich` to load."""
_FIRST_LINE, _LAST_GAP = 5.0, 60.0
"""Seconds before the first line of a log, and most seconds between two."""
_WINDOW = 30.0
"""Seconds that a rate looks back, at least as far as the last report before."""
_SECONDS_APART = 0.1
"""Between two looks at a run that are remembered, or shown on a bar."""
_STEPS = 1000
_LEAST = 0.05
"""Fewest MB/s that are worth a word."""


class Done(NamedTuple):
    """How much of a run is done.

    Attributes:
        rows: Rows, or other units, done in all.
        bytes: Bytes done; 0 where nobody counts them.
        total: Rows of the whole run; None where nobody knows.
        share: Part of the work, 0 to 1; None to take it from the rows, where their total is known.
        fresh: Those of the rows that this run worked at; None for all of them.
        note: What else is to be said, such as `3 failed`.
    """

    rows: int = 0
    bytes: int = 0
    total: int | None = None
    share: float | None = None
    fresh: int | None = None
    note: str = ""


Advance = Callable[[Done], None]
"""Takes how much is done now."""


@contextlib.contextmanager
def show_progress(verb: str, *, unit: str = "rows", quiet: bool = False) -> Iterator[Advance]:
    """Report on stderr while the context lasts; whatever else is said there meanwhile stands above the bar.

    Args:
        verb: What is done, such as `predict`.
        unit: What is counted.
        quiet: Report nothing.
    """
    if quiet or sys.stderr is None:
        yield lambda _done: None
    elif sys.stderr.isatty() and os.environ.get("TERM") not in (None, "", "dumb", "unknown"):
        bar = _Bar(verb, Pace(unit))
        try:
            yield bar
        finally:
            bar.close()
    else:
        yield _Lines(verb, Pace(unit))


def print_message(message: str) -> None:
    """Print a line on standard error, above a bar that stands there."""
    if sys.stderr is not None:
        sys.stderr.write(f"{escape_control(message)}\n")
        sys.stderr.flush()


class Pace:
    """What can be said of a run from how much of it was done when."""

    def __init__(self, unit: str = "rows") -> None:
        """Begin now."""
        self.start = time.monotonic()
        self._unit = unit
        self._marks = deque([(self.start, Done(share=0.0))])

    def take(self, done: Done) -> float:
        """Take what is done, and give the time."""
        now = time.monotonic()
        if done.rows < self._marks[-1][1].rows:
            self._marks = deque([(now, Done(share=0.0, fresh=done.fresh))])  # the next file or round begins
        if done.share is None and done.total:
            done = done._replace(share=done.rows / done.total)
        if len(self._marks) > 1 and now - self._marks[-2][0] < _SECONDS_APART:
            self._marks.pop()
        self._marks.append((now, done))
        while len(self._marks) > 2 and self._marks[1][0] <= now - _WINDOW:
            self._marks.popleft()
        return now

    @property
    def share(self) -> float | None:
        """Part of the work that is done; None where nobody knows."""
        return self._marks[-1][1].share

    def __str__(self) -> str:
        """Say how many rows, how fast, and how long the rest takes at this pace."""
        (before, first), (now, done) = self._marks[0], self._marks[-1]
        seconds = max(now - before, 1e-9)
        fresh = _count_fresh(done) - _count_fresh(first)
        megabytes = (done.bytes - first.bytes) / seconds / 1e6
        of = "" if done.total is None else f" of {done.total:,}"
        parts = [f"{done.rows:,}{of} {self._unit}"] if done.rows or done.total else []
        parts += [f"{_group_digits(fresh / seconds)} {self._unit}/s"] if fresh else []
        parts += [f"{_group_digits(megabytes)} MB/s"] if megabytes >= _LEAST else []
        left = _estimate_remaining(first, done, fresh, seconds)
        parts += [f"{format_duration(left)} left"] if left is not None else []
        return ", ".join([*parts, *([done.note] if done.note else [])])


def _estimate_remaining(first: Done, done: Done, fresh: int, seconds: float) -> float | None:
    if done.total is not None:
        return seconds * (done.total - done.rows) / fresh if fresh else None
    if done.share is None or first.share is None or done.share <= first.share:
        return None
    return seconds * (1 - done.share) / (done.share - first.share)


def _count_fresh(done: Done) -> int:
    return done.rows if done.fresh is None else done.fresh


def _group_digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def format_duration(seconds: float) -> str:
    """Write a time as people say it.

    Example:
        >>> format_duration(45.2), format_duration(320), format_duration(7500), format_duration(200_000)
        ('45 s', '5 min 20 s', '2 h 5 min', '55 h 33 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


class _Lines:
    """A line now and then, more rarely the longer a run takes."""

    def __init__(self, verb: str, pace: Pace) -> None:
        self._verb, self._pace = verb, pace
        self._next = pace.start + _FIRST_LINE

    def __call__(self, done: Done) -> None:
        now = self._pace.take(done)
        if now < self._next:
            return
        self._next = now + min(_LAST_GAP, max(_FIRST_LINE, (now - self._pace.start) / 10))
        share = "" if self._pace.share is None else f"{self._pace.share:.0%}, "
        sys.stderr.write(f"{self._verb}: {share}{self._pace}\n")
        sys.stderr.flush()


class _Bar:
    """A bar that appears when a run takes long enough to look at it."""

    def __init__(self, verb: str, pace: Pace) -> None:
        self._verb, self._pace = verb, pace
        self._next = pace.start + _SECONDS_BEFORE
        self._bar: Any = None

    def __call__(self, done: Done) -> None:
        now = self._pace.take(done)
        if now < self._next:
            return
        self._next = now + _SECONDS_APART
        self._bar = self._bar or _open_display(self._verb)
        share = self._pace.share
        steps = {"completed": round((share or 0) * _STEPS), "total": None if share is None else _STEPS}
        self._bar.update(self._bar.task_ids[0], said=str(self._pace), **steps)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()


def _open_display(verb: str) -> Any:
    # Loaded here: most runs are over before, and whatever has no terminal never needs it.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    said = TextColumn("{task.fields[said]}", markup=False)
    columns = (TextColumn(verb, markup=False), BarColumn(bar_width=20), TaskProgressColumn(), said)
    # Standard output carries the result, and is left alone.
    bar = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False)
    bar.add_task("", total=None, said="")
    bar.start()
    return bar
