"""This machine: the calling process and, for more workers, child processes."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from typing import Any, TypeVar

from mmconvert.errors import Error

_T = TypeVar("_T")
_R = TypeVar("_R")


def run(function: Callable[[_T], _R], tasks: Iterable[_T], workers: int) -> Iterator[_R]:
    """Run a function on every task.

    Args:
        function: A module's function; arguments and results must be picklable for more than one worker.
        tasks: What to run it on; the next one is asked for when a worker is free.
        workers: Processes at the same time, this one included.

    Yields:
        Results in the order of the tasks.

    Raises:
        Error: A child died.
        Exception: Whatever the function or the tasks raise; tasks that have not begun are then dropped,
            those that children are at are ended.
    """
    if workers < 2:
        yield from map(function, tasks)
        return
    left = _Tasks(tasks)
    results: dict[int, _R] = {}

    def take_all(call: Callable[[_T], _R]) -> None:
        try:
            for index, task in left:
                results[index] = call(task)
        except BaseException:
            left.drop()
            raise

    # Children are spawned, not forked: a fork copies the locks of running threads.
    context = multiprocessing.get_context("spawn")
    others = multiprocessing.active_children()
    helpers = workers - 1
    with (
        ProcessPoolExecutor(helpers, mp_context=context, initializer=_follow_parent) as pool,
        ThreadPoolExecutor(helpers) as feeders,
    ):
        try:
            # The first task is this process's own, so that a single one starts no child.
            first = next(left, None)
            fed = [feeders.submit(take_all, lambda task: pool.submit(function, task).result()) for _ in range(helpers)]
            if first is not None:
                results[first[0]] = function(first[1])
            take_all(function)
            for future in fed:
                future.result()
        except BrokenProcessPool:
            raise Error("a worker process died, perhaps because memory ran out. Run again with --workers 1.") from None
        except BaseException:
            # Nobody who presses Ctrl-C wants to wait for the parts that children are at.
            for child in multiprocessing.active_children():
                if child not in others:
                    child.terminate()
            raise
        finally:
            left.drop()
    for index in range(len(results)):
        yield results[index]


class _Tasks(Iterator[tuple[int, _T]]):
    """Numbered tasks for several threads to take from."""

    def __init__(self, tasks: Iterable[_T]) -> None:
        self._tasks = enumerate(tasks)
        self._lock = threading.Lock()
        self._dropped = False

    def __next__(self) -> tuple[int, _T]:
        with self._lock:
            if self._dropped:
                raise StopIteration
            return next(self._tasks)

    def drop(self) -> None:
        """Give no more of them."""
        self._dropped = True


def _follow_parent() -> None:
    """Leave Ctrl-C to the parent, and end with it even if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent: Any = multiprocessing.parent_process()

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


ENGINE = run
