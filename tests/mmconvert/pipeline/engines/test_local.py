"""The calling process and its children: how tasks are taken, and what is told of those that fail."""

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from mmconvert.core.errors import Error
from mmconvert.pipeline.engines.local import _Tasks, open_children, open_crew


class Slow(Iterator[str]):
    """Gives "a" and "b"; "c" when it is told to, or an error instead."""

    def __init__(self, error: Exception | None = None) -> None:
        self.asked, self.go, self._error = threading.Event(), threading.Event(), error
        self._given = iter("abc")

    def __next__(self) -> str:
        found = next(self._given)
        if found == "c":
            self.asked.set()
            assert self.go.wait(10)
            if self._error is not None:
                raise self._error
        return found


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(3) as pool:
        yield pool


def test_what_is_at_hand_is_given_while_the_next_is_looked_for(threads: ThreadPoolExecutor) -> None:
    source = Slow()
    left = _Tasks(source)
    prepared = threads.submit(left.prepare, 3)
    assert source.asked.wait(10)
    assert [next(left), next(left)] == [(0, "a"), (1, "b")]
    last = threads.submit(next, left)
    also_prepared = threads.submit(left.prepare, 2)
    assert not last.done()
    source.go.set()
    assert last.result(10) == (2, "c")
    assert prepared.result(10) is also_prepared.result(10) is None
    assert next(left, None) is None


def test_who_prepares_waits_for_who_looks_and_goes_on(threads: ThreadPoolExecutor) -> None:
    source = Slow()
    left = _Tasks(source)
    assert [next(left), next(left)] == [(0, "a"), (1, "b")]
    taken = threads.submit(next, left)
    assert source.asked.wait(10)
    prepared = threads.submit(left.prepare, 1)
    source.go.set()
    assert taken.result(10) == (2, "c")
    assert prepared.result(10) is None


def test_an_error_ends_the_tasks_for_all_who_wait(threads: ThreadPoolExecutor) -> None:
    error = ValueError("no more")
    source = Slow(error)
    left = _Tasks(source)
    prepared = threads.submit(left.prepare, 3)
    assert source.asked.wait(10)
    assert [next(left), next(left)] == [(0, "a"), (1, "b")]
    waiting = [threads.submit(next, left, None) for _ in range(2)]
    source.go.set()
    assert [one.result(10) for one in waiting] == [None, None]
    assert prepared.result(10) is None
    assert left.error is error


def test_dropped_tasks_are_given_to_nobody(threads: ThreadPoolExecutor) -> None:
    source = Slow()
    left = _Tasks(source)
    threads.submit(left.prepare, 3)
    assert source.asked.wait(10)
    assert next(left) == (0, "a")
    assert left.drop_behind(0)
    assert next(left, None) is None
    source.go.set()
    assert next(left, None) is None


class OddError(Exception):
    """Takes two values, and its text is one: pickle cannot make it again."""

    def __init__(self, name: str, number: int) -> None:
        super().__init__(f"{name} has {number}")


def fails_in_children(caller: int) -> int:
    if os.getpid() != caller:
        raise OddError("row", 3)
    return 0


def test_an_error_that_cannot_be_sent_is_told_in_words() -> None:
    with open_crew(2) as run, pytest.raises(RuntimeError, match=r"^OddError: row has 3$") as raised:
        list(run(fails_in_children, [os.getpid()] * 9))
    assert "in fails_in_children" in str(raised.value.__cause__)


def find_process(number: int) -> tuple[int, int]:
    return number, os.getpid()


def test_children_work_while_the_caller_does_something_else() -> None:
    with open_children(2) as begin:
        waiting = [begin(find_process, number) for number in range(4)]
        found = [wait() for wait in waiting]
    assert [number for number, _ in found] == [0, 1, 2, 3]
    assert os.getpid() not in {process for _, process in found}


def test_a_child_that_dies_is_told() -> None:
    with open_children(1) as begin, pytest.raises(Error, match="a worker process died"):
        begin(os._exit, 1)()


def test_children_end_at_once_with_an_error_of_the_caller() -> None:
    started = time.monotonic()
    with pytest.raises(ZeroDivisionError), open_children(1) as begin:  # noqa: PT012
        begin(find_process, 1)()
        begin(time.sleep, 60)
        raise ZeroDivisionError
    assert time.monotonic() - started < 30
