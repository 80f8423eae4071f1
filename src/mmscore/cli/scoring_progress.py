"""How far scoring is, for every command that scores: rows, or verdicts where judges read them."""

import contextlib
from collections.abc import Iterator
from typing import TypeVar

from msgspec import structs
from msgspec.structs import replace

from mmconvert.core.progress import Advance, Done, show_progress
from mmscore.scoring.evaluate import ScoreOptions
from mmscore.scoring.judging.request import JudgeRequest

_Options = TypeVar("_Options", bound=ScoreOptions)


@contextlib.contextmanager
def scoring_progress(options: _Options, *, quiet: bool) -> Iterator[_Options]:
    """Report on stderr while the context lasts.

    Args:
        options: How to score.
        quiet: Report nothing.

    Yields:
        The same options, which report.
    """
    request = options.judge
    if request is None:
        with show_progress("score", quiet=quiet) as advance:
            yield structs.replace(options, progress=lambda done, total: advance(Done(done, total=total)))
        return
    with show_progress("judge", unit="verdicts", quiet=quiet) as advance:
        verdicts = _Verdicts(advance, request)
        yield structs.replace(options, progress=verdicts.rows, judge=replace(request, progress=verdicts.settled))


class _Verdicts:
    """Counts what each of several judges has said about each row of a file."""

    def __init__(self, advance: Advance, request: JudgeRequest) -> None:
        self._advance = advance
        self._judges = len(request.names) * max(1, len(request.models)) * request.repeats
        self._total = self._done = self._fresh = 0

    def rows(self, done: int, total: int) -> None:
        """Take the rows of a file that are through, those that no judge sees among them."""
        self._done, self._total = done * self._judges, total * self._judges
        self._fresh = 0 if not done else self._fresh
        self._tell()

    def settled(self, _done: int, _batch: int) -> None:
        """Take one more row that one judge has settled."""
        self._done += 1
        self._fresh += 1
        self._tell()

    def _tell(self) -> None:
        self._advance(Done(self._done, total=self._total, fresh=self._fresh))
