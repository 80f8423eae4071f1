"""Where the per-part function runs, one file each.

An engine runs the same function on every task, wherever; what a task writes does not depend on the
engine. It may begin before it knows all tasks: they come from an iterator that takes time.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Engine:
    """A place where tasks run.

    Attributes:
        run: (function, tasks, workers) -> results in the order of the tasks. Function, tasks and results
            are picklable; `workers`, from 1, is how many tasks are under way at once.
        cores: Counts the cores that there are for tasks.
    """

    run: Callable[[Callable[[Any], Any], Iterable[Any], int], Iterator[Any]]
    cores: Callable[[], int]
