"""This machine: the calling process and, for more workers, child processes."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from typing import Any, TypeVar

from mmconvert.errors import Error

_T = TypeVar("_T")
_R = TypeVar("_R")


def run(function: Callable[[_T], _R], tasks: Sequence[_T], workers: int) -> Iterator[_R]:
    """Run a function on every task.

    Args:
        function: A module's function; arguments and results must be picklable for more than one worker.
        tasks: What to run it on.
        workers: Processes at the same time, this one included.

    Yields:
        Results in the order of the tasks.

    Raises:
        Error: A child died.
        Exception: Whatever the function raises; tasks that have not begun are then dropped, those that
            children are at are ended.
    """
    helpers = min(workers, len(tasks)) - 1
    if helpers < 1:
        yield from map(function, tasks)
        return
    results: dict[int, _R] = {}
    left = deque(enumerate(tasks))

    def take_all(call: Callable[[_T], _R]) -> None:
        while True:
            try:
                index, task = left.popleft()
            except IndexError:
                return
            try:
                results[index] = call(task)
            except BaseException:
                left.clear()
                raise

    # Children are spawned, not forked: a fork copies the locks of running threads.
    context = multiprocessing.get_context("spawn")
    others = multiprocessing.active_children()
    with (
        ProcessPoolExecutor(helpers, mp_context=context, initializer=_follow_parent) as pool,
        ThreadPoolExecutor(helpers) as feeders,
    ):
        try:
            fed = [feeders.submit(take_all, lambda task: pool.submit(function, task).result()) for _ in range(helpers)]
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
            left.clear()
    for index in range(len(tasks)):
        yield results[index]


def _follow_parent() -> None:
    """Leave Ctrl-C to the parent, and end with it even if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent: Any = multiprocessing.parent_process()

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


ENGINE = run
