"""A Ray cluster: the one that RAY_ADDRESS names, or one of this machine for the run alone.

Each part is a task. The tasks write into the folder of the dataset, so all nodes see it under the same
path, and the source files too. A task whose worker or node dies is run again; it writes the same files.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import ray
from ray.exceptions import RayError, RayTaskError

from mmconvert.core.errors import Error, take_first_line
from mmconvert.pipeline.engines import Engine, Run
from mmconvert.pipeline.ray_cluster import connect

_T = TypeVar("_T")
_R = TypeVar("_R")

_TRIES_AFTER_A_DEATH = 3


@contextmanager
def open_crew(workers: int) -> Iterator[Run]:
    """Be connected to the cluster, and run functions there while the context lasts; see `Engine`."""
    connect()
    yield partial(_run, workers)


def _run(workers: int, function: Callable[[_T], _R], tasks: Iterable[_T]) -> Iterator[_R]:
    """Run a function on every task, anywhere in the cluster.

    Args:
        workers: Tasks under way at the same time.
        function: A module's function; the package is installed on every node.
        tasks: What to run it on; the next one is asked for when there is a place for it.

    Yields:
        Results in the order of the tasks.

    Raises:
        Error: Workers died again and again, or the cluster cannot be asked.
        Exception: Whatever the function or the tasks raise; tasks under way are then given up.
    """
    # Spread, for a part reads and writes more than it computes.
    remote = ray.remote(max_retries=_TRIES_AFTER_A_DEATH, scheduling_strategy="SPREAD")(function)
    begun: deque[ray.ObjectRef] = deque()
    try:
        for task in tasks:
            under_way = _list_running(begun)
            if len(under_way) >= workers:
                ray.wait(under_way, num_returns=len(under_way) - workers + 1)
            begun.append(remote.remote(task))
            while not _list_running([begun[0]]):
                yield _read_result(begun.popleft())
                if not begun:
                    break
        while begun:
            yield _read_result(begun.popleft())
    finally:
        for reference in begun:
            ray.cancel(reference, force=True)


def count_cores() -> int:
    """Count the cores of the cluster."""
    connect()
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def _list_running(references: Sequence[ray.ObjectRef]) -> list[ray.ObjectRef]:
    if not references:
        return []
    _, left = ray.wait(list(references), num_returns=len(references), timeout=0)
    return list(left)


def _read_result(reference: ray.ObjectRef) -> Any:
    try:
        return ray.get(reference)
    except RayTaskError as error:
        # What the function raised, as on every other engine.
        raise error.cause from None
    except RayError as error:
        message = f"a part was lost on the Ray cluster ({take_first_line(error)}). Run again, or with --engine local."
        raise Error(message) from None


ENGINE = Engine(open_crew, count_cores)
