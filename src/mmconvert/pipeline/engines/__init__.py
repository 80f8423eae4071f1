"""Where the per-part function runs, one file each.

An engine runs the same function on every task, wherever; what a task writes does not depend on the
engine. It may begin before it knows all tasks: they come from an iterator that takes time.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import msgspec

Run = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]
"""(function, tasks) -> results in the order of the tasks; function, tasks and results are picklable."""


class Engine(msgspec.Struct, frozen=True):
    """A place where tasks run.

    Attributes:
        crew: Takes how many tasks, from 1, are to be under way at once; what it gives runs them, as often as
            need be, while the context lasts. It is entered before the caller starts threads.
        cores: Counts the cores that there are for tasks.
    """

    crew: Callable[[int], AbstractContextManager[Run]]
    cores: Callable[[], int]
