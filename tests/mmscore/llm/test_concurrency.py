"""`--concurrency auto` finds a server's knee."""

import heapq
import random

import pytest

from mmscore.llm.concurrency import AutoLimit


class Server:
    """A simulated server: `knee` questions are worked on at once, others wait; too many in line make it slower.

    Attributes:
        finished: When each response was there.
    """

    def __init__(self, knee: int, *, spread: float = 0.0, refuse_above: int | None = None, seed: int = 0) -> None:
        self.knee, self.spread, self.refuse_above = knee, spread, refuse_above
        self.random = random.Random(seed)
        self.finished: list[float] = []
        self.refused = self.most = 0

    def serve(self, limit: AutoLimit, questions: int) -> None:
        """Send questions, as many at once as the limit says."""
        now, sent, under_way = 0.0, 0, 0
        free = [0.0] * self.knee
        ends: list[tuple[float, float, bool]] = []
        while sent < questions or ends:
            while sent < questions and under_way < limit.limit:
                sent, under_way = sent + 1, under_way + 1
                self.most = max(self.most, under_way)
                if self.refuse_above is not None and under_way > self.refuse_above:
                    heapq.heappush(ends, (now + 0.01, now, False))
                    continue
                begins = max(now, heapq.heappop(free))
                end = begins + self.random.uniform(1 - self.spread, 1 + self.spread)
                heapq.heappush(free, end)
                heapq.heappush(ends, (end, now, True))
            now, began, is_response = heapq.heappop(ends)
            under_way -= 1
            if is_response:
                self.finished.append(now)
                limit.add_response(began, now)
            else:
                self.refused += 1
                limit.add_refusal(began, now)

    def measure_throughput(self, first: int, last: int) -> float:
        return (last - first) / (self.finished[last - 1] - self.finished[first - 1])


@pytest.mark.parametrize("knee", [1, 2, 3, 5, 8, 13, 24, 40, 45, 50, 64])
def test_the_knee_is_found_in_300_questions_and_never_passed_by_more_than_twice(knee: int) -> None:
    server = Server(knee)
    server.serve(AutoLimit(), 1200)
    assert server.most <= 2 * knee
    assert server.measure_throughput(300, 1100) >= 0.95 * knee


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("knee", [4, 16, 48])
def test_responses_of_different_length_hide_no_knee(knee: int, seed: int) -> None:
    server = Server(knee, spread=0.6, seed=seed)
    server.serve(AutoLimit(), 3000)
    assert server.measure_throughput(1500, 2900) >= 0.9 * knee


def test_refusals_lower_the_number() -> None:
    server = Server(100, refuse_above=20)
    limit = AutoLimit()
    server.serve(limit, 3000)
    assert limit.limit <= 20
    assert server.refused < 100
    assert server.measure_throughput(1500, 2900) >= 12


def test_refusals_that_were_under_way_together_count_once() -> None:
    limit = AutoLimit()
    for number in range(400):
        limit.add_response(number, number + 1)
    before = limit.limit
    for _ in range(10):
        limit.add_refusal(1000.0, 1001.0)
    assert limit.limit == before // 2


def test_a_server_that_becomes_slower_is_asked_less() -> None:
    limit = AutoLimit()
    now = 0.0
    for _ in range(2000):
        limit.add_response(now, now + 1)
        now += 1
    before = limit.limit
    for _ in range(20_000):
        limit.add_response(now, now + 4)
        now += 4
        if limit.limit < before:
            break
    assert limit.limit < before


def test_a_server_that_works_on_one_question_alone_gets_one_and_never_none() -> None:
    limit = AutoLimit()
    Server(8).serve(limit, 1500)
    assert limit.limit > 4
    seen = set()

    class Watched(Server):
        @property
        def most(self) -> int:
            return 0

        @most.setter
        def most(self, _: int) -> None:
            seen.add(limit.limit)

    Watched(1).serve(limit, 6000)
    assert min(seen) == 1


def test_the_upper_bound_holds() -> None:
    limit = AutoLimit(most=6)
    Server(50).serve(limit, 500)
    assert limit.highest == limit.limit == 6


def test_a_server_that_does_as_much_with_one_question_at_a_time_is_asked_one():
    limit = AutoLimit()
    server = Server(8)
    server.serve(limit, 1500)
    assert limit.limit > 4
    # Seven questions a second at each level, hardly fewer than the eight before: the line alone is longer.
    now, seen = server.finished[-1], set()
    for _ in range(3000):
        seen.add(limit.limit)
        limit.add_response(now, now + limit.limit / 7)
        now += 1 / 7
    assert min(seen) == 1
