"""This machine: the calling process and, for more workers, child processes."""

import copy
import itertools
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from mmconvert.core.errors import Error
from mmconvert.core.multiprocess import count_usable_cores, hide_main_module
from mmconvert.pipeline.engines import Engine, Run

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

_T = TypeVar("_T")
_R = TypeVar("_R")


@contextmanager
def open_crew(workers: int) -> Iterator[Run]:
    """Have child processes, the calling one being a worker too, while the context lasts; see `Engine`.

    What it gives runs a function on every task. The next tasks are asked for a few at a time, while others run.

    Raises:
        Error: A child died.
        Exception: What the function raises for the first task that fails, behind the results of those before, or
            what the tasks raise. Tasks that have not begun are then dropped.
    """
    if workers < 2:
        yield map
        return
    with _Children(workers - 1) as children:
        yield partial(_run, children)


@contextmanager
def open_children(count: int) -> Iterator[Callable[[Callable[[Any], Any], Any], Callable[[], Any]]]:
    """Have child processes while the context lasts; the calling one is none of them and does something else.

    What it gives has one that is free run a function on a task, both picklable, and gives what waits for the result.

    Raises:
        Error: A child died; by what waits, too.
    """
    with _Children(count) as children:
        try:
            yield children.begin
        except BaseException:
            children.end()
            raise


def _run(children: "_Children", function: Callable[[_T], _R], tasks: Iterable[_T]) -> Iterator[_R]:
    left = _Tasks(tasks)
    results: dict[int, _R] = {}
    errors: dict[int, Exception] = {}

    def failed(index: int, error: Exception) -> None:
        errors[index] = error
        # What stands before it in the order of tasks continues: it may fail too, and is told first then.
        if left.drop_behind(index):
            children.end()

    def do(index: int, task: _T, begin: Callable[[Callable[[_T], _R], _T], Callable[[], _R]]) -> None:
        try:
            results[index] = begin(function, task)()
        except Exception as error:
            failed(index, error)
        finally:
            left.finish_task(index)

    def do_all(begin: Callable[[Callable[[_T], _R], _T], Callable[[], _R]]) -> None:
        for numbered in left:
            do(*numbered, begin)

    def hand_over(function: Callable[[_T], _R], task: _T) -> Callable[[], _R]:
        result = children.begin(function, task)
        # This process may come for one before it is told that they are there.
        left.prepare(children.count + 2)
        return result

    def feed(index: int, task: _T) -> None:
        do(index, task, hand_over)
        do_all(hand_over)

    with ThreadPoolExecutor(children.count) as feeders:
        try:
            # Children that are there begin first, for it is this process that looks for the next tasks. Those that
            # have to load do not: a single task shall not wait for them.
            first = [] if children.ready else list(itertools.islice(left, 1))
            fed = [feeders.submit(feed, *numbered) for numbered in itertools.islice(left, children.count)]
            for numbered in first:
                do(*numbered, partial)
            do_all(partial)
            for future in fed:
                future.result()
        except BaseException:
            left.drop_behind(-1)
            children.end()
            raise
    for index in itertools.takewhile(results.__contains__, itertools.count()):
        yield results[index]
    if errors:
        raise errors[min(errors)]
    if left.error is not None:
        raise left.error


class _Children:
    """Child processes: forked at once where that is safe, else spawned when one of them gets its first task.

    A fork takes no time to load, but copies the locks of running threads; so it takes a process that has none.

    Attributes:
        count: How many.
        ready: They are there.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._lock = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._others: list[Any] = []

    def __enter__(self) -> "_Children":
        if hasattr(os, "fork") and _has_one_thread():
            self._pool = self._start_pool("fork")
            self._pool.submit(os.getpid)  # which forks them all
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    @property
    def ready(self) -> bool:
        return self._pool is not None

    def begin(self, function: Callable[[_T], _R], task: _T) -> Callable[[], _R]:
        """Have a child that is free run a function; what is given waits for its result.

        Raises:
            Error: The child died; by what is given, too.
        """
        with self._lock:
            self._pool = self._pool or self._start_pool("spawn")
        with _report_deaths(), hide_main_module():
            future = self._pool.submit(_run_in_child, function, task)
        return _report_deaths()(future.result)

    def _start_pool(self, method: str) -> "ProcessPoolExecutor":
        # Loaded here: most files are one part and need none.
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        self._others = multiprocessing.active_children()
        context = multiprocessing.get_context(method)
        aside = sys.stdout is sys.stderr
        return ProcessPoolExecutor(self.count, mp_context=context, initializer=_follow_parent, initargs=(aside,))

    def end(self) -> None:
        """End the children at once: nobody who presses Ctrl-C wants to wait for the parts that they are at."""
        import multiprocessing

        with self._lock:
            for child in multiprocessing.active_children() if self._pool is not None else ():
                if child not in self._others:
                    child.terminate()


def _run_in_child(function: Callable[[_T], _R], task: _T) -> _R:
    """Run a function in a child; an error that no other process could make again is raised in words."""
    try:
        return function(task)
    except Exception as error:
        try:
            copy.copy(error)  # made from its values, as it is again where it arrives
        except Exception:
            raise RuntimeError(f"{type(error).__name__}: {error}") from error
        raise


@contextmanager
def _report_deaths() -> Iterator[None]:
    from concurrent.futures.process import BrokenProcessPool

    try:
        yield
    except BrokenProcessPool:
        raise Error("a worker process died, perhaps because memory ran out. Run again with --workers 1.") from None


def _has_one_thread() -> bool:
    """Tell whether this process has no thread but one, be it Python's or a library's; False where nobody says it."""
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


class _Tasks(Iterator[tuple[int, _T]]):
    """Numbered tasks for several threads to take from; one of them at a time looks for the next.

    Attributes:
        error: What was raised instead of the next task.
    """

    def __init__(self, tasks: Iterable[_T]) -> None:
        self.error: Exception | None = None
        self._tasks: Iterator[tuple[int, _T]] = enumerate(tasks)
        self._ready: deque[tuple[int, _T]] = deque()
        self._under_way: set[int] = set()
        self._changed = threading.Condition()
        self._looking = self._dropped = False

    def __next__(self) -> tuple[int, _T]:
        with self._changed:
            while not (self._ready or self._dropped) and self._find_next():
                pass
            if self._dropped or not self._ready:
                raise StopIteration
            index, task = self._ready.popleft()
            self._under_way.add(index)
            return index, task

    def prepare(self, count: int) -> None:
        """Have the next ones available, so that nobody who comes for them waits."""
        with self._changed:
            while len(self._ready) < count and not self._dropped and self._find_next():
                pass

    def _find_next(self) -> bool:
        """Look for the next task, or wait for who does; tell whether it is worth coming again."""
        if self._looking:
            self._changed.wait()
            return True
        self._looking = True
        # Whoever comes for a task that is available does not wait meanwhile.
        self._changed.release()
        found: list[tuple[int, _T]] = []
        error: Exception | None = None
        try:
            found = list(itertools.islice(self._tasks, 1))
        except Exception as raised:
            error = raised
        finally:
            self._changed.acquire()
            self._looking = False
            self._changed.notify_all()
        if error is not None:
            self.error, self._tasks = error, iter(())
        self._ready.extend(found)
        return bool(found)

    def finish_task(self, index: int) -> None:
        """Take back a task that was taken."""
        with self._changed:
            self._under_way.discard(index)

    def drop_behind(self, index: int) -> bool:
        """Give no more of them; tell whether all that are under way stand behind a task."""
        with self._changed:
            self._dropped = True
            return all(other > index for other in self._under_way if other != index)


def _follow_parent(aside: bool) -> None:
    """Leave Ctrl-C to the parent, and end when it says so and with it, even if it is killed.

    Args:
        aside: What plug-ins print goes to standard error, as in the parent, whose output a program reads.
    """
    import multiprocessing
    from multiprocessing import connection

    if aside:
        sys.stdout = sys.stderr
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a fork has the parent's way to end
    parent: Any = multiprocessing.parent_process()

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


ENGINE = Engine(open_crew, count_usable_cores)
