"""This machine: the calling process and, for more workers, child processes."""

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from mmconvert.cores import usable_cores
from mmconvert.engines import Engine
from mmconvert.errors import Error
from mmconvert.spawning import without_main

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

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

    def take_all(call: Callable[[Callable[[_T], _R], _T], _R]) -> None:
        try:
            for index, task in left:
                results[index] = call(function, task)
        except BaseException:
            left.drop()
            raise

    helpers = workers - 1
    children = _Children(helpers)
    with children, ThreadPoolExecutor(helpers) as feeders:
        try:
            # The first task is this process's own, so that a single one starts no child.
            first = next(left, None)
            fed = [feeders.submit(take_all, children.call) for _ in range(helpers)]
            if first is not None:
                results[first[0]] = function(first[1])
            take_all(lambda call, task: call(task))
            for future in fed:
                future.result()
        except BaseException:
            children.end()
            raise
        finally:
            left.drop()
    for index in range(len(results)):
        yield results[index]


class _Children:
    """Child processes, begun when one of them gets its first task."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._lock = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._others: list[Any] = []

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def call(self, function: Callable[[_T], _R], task: _T) -> _R:
        """Run a function in a child that is free.

        Raises:
            Error: The child died.
        """
        from concurrent.futures.process import BrokenProcessPool

        with self._lock:
            self._pool = self._pool or self._begun()
        try:
            with without_main():
                future = self._pool.submit(function, task)
            return future.result()
        except BrokenProcessPool:
            raise Error("a worker process died, perhaps because memory ran out. Run again with --workers 1.") from None

    def _begun(self) -> "ProcessPoolExecutor":
        # Processes take time to load, and a file in one part needs none.
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        self._others = multiprocessing.active_children()
        # Children are spawned, not forked: a fork copies the locks of running threads.
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._count, mp_context=context, initializer=_follow_parent)

    def end(self) -> None:
        """End the children at once: nobody who presses Ctrl-C wants to wait for the parts that they are at."""
        import multiprocessing

        with self._lock:
            for child in multiprocessing.active_children() if self._pool is not None else ():
                if child not in self._others:
                    child.terminate()


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
    import multiprocessing
    from multiprocessing import connection

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent: Any = multiprocessing.parent_process()

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


ENGINE = Engine(run, usable_cores)
