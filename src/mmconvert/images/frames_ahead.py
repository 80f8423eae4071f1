"""Take frames out of the videos of rows to come, several videos at once, rows in their order.

The frames are those that a row would be given anyway: a video is only asked for earlier. What is ahead is bounded by
videos, rows and bytes.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

import msgspec

from mmconvert.core.errors import RowError
from mmconvert.images.prefetch import MOST_ROW_BYTES, begin_ahead
from mmconvert.images.video import Clip, VideoFrames

Found = tuple[VideoFrames, str]
"""The frames of a video, and its path inside the root."""

_MOST_ROWS = 8
"""Rows for each worker that are looked at ahead of the one that is read: many may be about one video."""

_T = TypeVar("_T")


class _Asked(msgspec.Struct):
    """A video that is being read, and how many rows to come have asked for it."""

    frames: Future[Found]
    count: int = 0


class FramesAhead:
    """Videos that rows to come ask for."""

    def __init__(self, workers: int) -> None:
        """Begin with none.

        Args:
            workers: Videos that are read at the same time.
        """
        self._workers = workers
        self._pool = ThreadPoolExecutor(workers)
        self._asked: dict[tuple[str, Clip], _Asked] = {}
        self._of_row: list[tuple[str, Clip]] = []

    def ask(self, text: str, clip: Clip, extract: Callable[[], Found]) -> None:
        """Begin with a video, if nobody has.

        Args:
            text: What a row wrote for it.
            clip: The piece of it that is meant.
            extract: Takes the frames.
        """
        known = self._asked.get((text, clip))
        if known is None:
            # What the run notes of the files that it reads is known in the threads as well.
            known = self._asked[text, clip] = _Asked(self._pool.submit(copy_context().run, extract))
        known.count += 1
        self._of_row.append((text, clip))

    def take(self, text: str, clip: Clip) -> Found | None:
        """Give the frames of a video, None for one that nobody has asked for.

        Raises:
            RowError: As `extract` in its thread.
            Error: Likewise.
        """
        known = self._asked.get((text, clip))
        if known is None:
            return None
        try:
            return known.frames.result()
        except RowError as error:
            raise RowError(error.code, error.field, error.message) from None

    def look_ahead(self, rows: Iterable[_T], ask: Callable[[_T], None]) -> Iterator[_T]:
        """Give rows on, some of which were asked for their videos before.

        Args:
            rows: The rows.
            ask: Calls `ask` for the videos of a row.

        Yields:
            The rows in order.

        Raises:
            Error: As `rows`, behind the rows that came before it.
        """

        def begin(row: _T) -> list[tuple[str, Clip]]:
            self._of_row = []
            ask(row)
            return self._of_row

        try:
            for row, asked in begin_ahead(rows, begin, self._has_room):
                yield row
                self._release(asked)
        finally:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _release(self, asked: Iterable[tuple[str, Clip]]) -> None:
        """Let go of the videos of a row, which may have been refused before it took them."""
        for key in asked:
            self._asked[key].count -= 1
            if not self._asked[key].count:
                del self._asked[key]

    def _has_room(self, rows: int, held: int) -> bool:
        few = len(self._asked) <= self._workers and rows < _MOST_ROWS * self._workers
        return few and held < MOST_ROW_BYTES
