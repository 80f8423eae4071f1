"""Say how far a run is: a bar on a terminal, a line now and then in a log, nothing when quiet."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

_SECONDS_BETWEEN_LINES = 30.0

Advance = Callable[[int, int], None]
"""Takes how many rows are done now in all, and how many of them failed."""


@contextlib.contextmanager
def progress(total: int, *, quiet: bool) -> Iterator[Advance]:
    """Report rows on stderr while the context lasts.

    Args:
        total: Rows of the whole run.
        quiet: Report nothing.
    """
    if quiet:
        yield lambda _done, _failed: None
    elif sys.stderr.isatty():
        with _bar(total) as advance:
            yield advance
    else:
        yield _lines(total)


@contextlib.contextmanager
def _bar(total: int) -> Iterator[Advance]:
    columns = (
        TextColumn("predict"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("predict", total=total, note="")

        def advance(done: int, failed: int) -> None:
            bar.update(task, completed=done, note=f"{failed} failed" if failed else "")

        yield advance


def _lines(total: int) -> Advance:
    start = last = time.monotonic()

    def advance(done: int, failed: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            note = f", {failed} failed" if failed else ""
            click.echo(f"{done} of {total} rows{note}, {now - start:.0f} s", err=True)

    return advance
