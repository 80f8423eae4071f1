"""What the writing thread promises: order, few waiting calls, errors that come out."""

import threading
import time

import pytest

from mmconvert.pipeline.part_writer import WAITING, WritingThread


def test_calls_are_done_in_order_in_one_other_thread() -> None:
    done: list[tuple[int, int]] = []
    with WritingThread() as thread:
        for number in range(20):
            thread.submit(lambda number=number: done.append((number, threading.get_ident())))
    assert [number for number, _ in done] == [*range(20)]
    assert len({who for _, who in done}) == 1
    assert done[0][1] != threading.get_ident()


def test_few_calls_wait() -> None:
    gate, handed = threading.Event(), []

    def hand_over(thread: WritingThread) -> None:
        for number in range(WAITING + 1):
            thread.submit(gate.wait)
            handed.append(number)

    with WritingThread() as thread:
        other = threading.Thread(target=hand_over, args=(thread,))
        other.start()
        other.join(0.3)
        before = [*handed]
        gate.set()
        other.join()
    assert before == [*range(WAITING)]
    assert handed == [*range(WAITING + 1)]


def test_an_error_of_a_call_is_raised_where_it_is_waited_for() -> None:
    with pytest.raises(ZeroDivisionError), WritingThread() as thread:
        thread.submit(lambda: 1 // 0)


def test_an_error_of_the_reader_drops_what_waits() -> None:
    done: list[int] = []
    gate = threading.Event()

    def read() -> None:
        with WritingThread() as thread:
            thread.submit(gate.wait)
            thread.submit(done.append, 1)
            threading.Timer(0.2, gate.set).start()
            raise KeyError

    with pytest.raises(KeyError):
        read()
    assert done == []


def test_a_call_in_the_caller_s_own_thread_waits_for_those_before() -> None:
    done: list[tuple[int, int]] = []
    with WritingThread() as thread:
        for number in range(3):
            thread.submit(lambda number=number: (time.sleep(0.01), done.append((number, threading.get_ident()))))
        result = thread.submit(lambda: done.append((3, threading.get_ident())) or "done", here=True)
        assert (result.done(), result.result()) == (True, "done")
        thread.submit(lambda: done.append((4, threading.get_ident())))
    assert [number for number, _ in done] == [*range(5)]
    assert [who == threading.get_ident() for _, who in done] == [False, False, False, True, False]
