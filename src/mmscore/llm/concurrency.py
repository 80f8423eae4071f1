"""How many questions are under way at once where nobody says it: a number that follows what the server can do."""

import math

AUTO_MOST = 1000
"""Most questions at once that are tried where nobody said a number."""
_FEWEST, _FINE = 8, 24
"""Responses by which a level is judged, half of them for the first, and a finer step; more where more are under way."""
_GROWTH = (1.8, 1.4, 1.2)
"""How much more is tried: the first factor as long as all of it pays, then the finer ones."""
_WORTH = (0.6, 0.4, 0.25)
"""Part of what each factor tries that throughput must gain for it to be kept: more where the line is still growing."""
_FULL = 0.93
"""From this part of it on there is room for as much again: below, the knee is near."""
_WORSE = 0.7
"""A level at which throughput falls below this part of what it was is left."""
_BELOW_REFUSAL = 0.9
"""Part of a level at which questions were refused that is not passed again."""
_AGAIN = 8
"""Levels of responses after which less, or more, is tried again."""
_LEAST_SHRUNK = 4
"""A level from which on less is tried: below, one question fewer is a good part of them."""
_AS_GOOD = 0.97
"""A lower level that keeps this part of throughput is as good."""


class AutoLimit:
    """Finds the number of questions at once beyond which the server answers no more of them in the same time.

    Throughput at a level is its number of questions by their mean time (Little's law), so that questions in front of
    a change need not be waited for. More is tried as long as throughput gains; then finer steps, which are judged when
    the server's line has its new length; then the number is kept, and more tried again from time to time. Refusals for
    load (429, 503), timeouts and lost connections lower it.

    Attributes:
        limit: Questions that may be under way now.
        highest: Most that there ever were.
    """

    def __init__(self, most: int = AUTO_MOST) -> None:
        """Begin with few.

        Args:
            most: Upper bound, from 1.
        """
        self.limit = self.highest = 1
        self._ceiling = most
        self._growth = 0
        self._shrinks = False
        self._proven: tuple[int, float] | None = None
        self._begin(0.0)

    def _begin(self, now: float) -> None:
        self._since = now
        self._count = self._passed = 0
        self._seconds = 0.0

    def add_response(self, began: float, ended: float) -> None:
        """Learn from a question that was answered.

        Args:
            began: When it was sent, in seconds of any clock.
            ended: When its response was there.
        """
        if began < self._since:
            return
        if self._growth and self._passed < self.limit:
            self._passed += 1
            return
        self._count += 1
        self._seconds += ended - began
        if self._count < self._needed:
            return
        throughput = self.limit * self._count / max(self._seconds, 1e-9)
        if self._proven is None or self.limit > self._proven[0]:
            self._judge_growth(throughput)
        elif self.limit < self._proven[0]:
            self._judge_shrinking(throughput)
        else:
            self._judge_level(throughput)
        self._begin(ended)

    @property
    def _needed(self) -> int:
        if self._proven is None and self.limit == 1:
            return _FEWEST // 2
        settled = self._proven is not None and self.limit == self._proven[0]
        return (_AGAIN if settled else 1) * max(_FINE if self._growth else _FEWEST, self.limit)

    def _judge_growth(self, throughput: float) -> None:
        """Keep a higher level that pays, else go back to the one that did."""
        if self._proven is not None:
            level, before = self._proven
            tried, gained = self.limit / level, throughput / before
            if gained < 1 + _WORTH[self._growth] * (tried - 1):
                self.limit = level
                self._growth += 1
                self._grow()
                return
            if gained < _FULL * tried:
                self._growth = max(1, self._growth)
        self._proven = (self.limit, throughput)
        self._grow()

    def _judge_level(self, throughput: float) -> None:
        """Go down where a level that was kept does not give what it did, else try less and more in turn."""
        level, before = self._proven or (self.limit, throughput)
        if throughput < _WORSE * before:
            self._lower(_WORSE)
            return
        self._proven = (level, throughput)
        self._growth = 1
        self._shrinks = not self._shrinks and level >= _LEAST_SHRUNK
        if self._shrinks:
            self._shrink()
        else:
            self._grow()

    def _judge_shrinking(self, throughput: float) -> None:
        """Keep a lower level that does as well, and try less still."""
        level, before = self._proven or (self.limit, throughput)
        if throughput < _AS_GOOD * before:
            self.limit = level
            return
        self._proven = (self.limit, before)
        self._shrink()

    def _shrink(self) -> None:
        self.limit = max(1, math.floor(self.limit / _GROWTH[-1]))

    def _grow(self) -> None:
        while self._growth < len(_GROWTH):
            higher = min(self._ceiling, max(self.limit + 1, math.floor(self.limit * _GROWTH[self._growth])))
            if higher > self.limit:
                self.limit = higher
                self.highest = max(self.highest, higher)
                return
            self._growth = len(_GROWTH)

    def add_refusal(self, began: float, now: float) -> None:
        """Learn from a question that the server had no room for, or lost.

        Args:
            began: When it was sent.
            now: When that was known.
        """
        # Those that were under way together are one sign.
        if began <= self._since and self._since:
            return
        self._ceiling = max(1, min(self._ceiling, math.floor(_BELOW_REFUSAL * self.limit)))
        self._lower(0.5)
        self._begin(now)

    def _lower(self, factor: float) -> None:
        self.limit = max(1, math.floor(self.limit * factor))
        self._proven = None
        self._growth = 1
