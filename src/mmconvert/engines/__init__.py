"""Where the per-part function runs, one file each.

An engine is a function (function, tasks, workers) -> results, in the order of the tasks. It runs the
same function on every task, wherever; what a task writes does not depend on the engine. It may begin
before it knows all tasks: they come from an iterator that takes time.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

Engine = Callable[[Callable[[Any], Any], Iterable[Any], int], Iterator[Any]]
"""(function, tasks, workers) -> results in the order of the tasks."""
