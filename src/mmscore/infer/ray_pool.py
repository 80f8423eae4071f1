"""A backend on every node of a Ray cluster: models are opened there, rows travel, the store stays here.

The package and the model's folder are on every node under the same path. Rows of a process or node that
dies are asked of another.
"""

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from itertools import islice
from typing import Any

import ray
from ray.exceptions import RayActorError, RayTaskError

from mmconvert.engines.ray import connect
from mmconvert.errors import Error
from mmconvert.record import Record
from mmscore.answers import Answer
from mmscore.infer.backend import ModelOptions, open_backend

_RESTARTS = 3
_Group = list[tuple[int, Record]]


class _Member:
    """A backend in a process of its own, somewhere in the cluster."""

    def __init__(self, plugin: str, options: ModelOptions) -> None:
        self._backend = open_backend(plugin, options)

    def about(self) -> tuple[str, str, int]:
        return self._backend.name, self._backend.identity, self._backend.batch_size

    def answer(self, records: Sequence[Record]) -> list[Answer]:
        return list(self._backend.answer(records))


class RayPool:
    """The same backend in several processes of a cluster; see `mmscore.infer.backend.Streaming`."""

    def __init__(self, plugin: str, options: ModelOptions, count: int | None = None) -> None:
        """Open the backend on the cluster.

        Args:
            plugin: Name of a backend, or `file.py@name`.
            options: What each is opened with.
            count: Processes; None for one a GPU, or one a node where there is none.

        Raises:
            UsageError: As `open_backend`, or the cluster cannot be reached.
            Error: The model cannot be loaded.
        """
        connect()
        gpus = int(ray.cluster_resources().get("GPU", 0))
        count = count or gpus or len([node for node in ray.nodes() if node["Alive"]])
        needs = {"num_gpus": gpus / count if gpus < count else gpus // count} if gpus else {"num_cpus": 1}
        actor: Any = ray.remote(_Member).options(max_restarts=_RESTARTS, scheduling_strategy="SPREAD", **needs)
        self._members = [actor.remote(plugin, options) for _ in range(count)]
        self.name, self.identity, self._group = _result(self._members[0].about.remote())
        self.batch_size = self._group * count

    def answer(self, records: Sequence[Record]) -> list[Answer]:
        """Answer records side by side."""
        answers = dict(pair for group in self.stream(iter(records)) for pair in group)
        return [answers[position] for position in range(len(records))]

    def stream(self, records: Iterator[Record]) -> Generator[list[tuple[int, Answer]]]:
        """Answer records as they are drawn, a group a process at a time.

        Raises:
            Error: What a backend raised; or processes died again and again.
        """
        rows = enumerate(records)
        again: deque[_Group] = deque()
        free = deque(self._members)
        under_way: dict[ray.ObjectRef, tuple[Any, _Group]] = {}
        deaths = 0
        try:
            while True:
                while free and (group := again.popleft() if again else list(islice(rows, self._group))):
                    member = free.popleft()
                    under_way[member.answer.remote([record for _, record in group])] = member, group
                if not under_way:
                    return
                for done in ray.wait(list(under_way))[0]:
                    member, group = under_way.pop(done)
                    free.append(member)
                    try:
                        answers = _result(done)
                    except RayActorError as error:
                        deaths += 1
                        if deaths > _RESTARTS * len(self._members):
                            raise Error(
                                f"processes of the cluster died again and again ({error}). Run again."
                            ) from None
                        again.append(group)
                        continue
                    yield [(position, answer) for (position, _), answer in zip(group, answers, strict=True)]
        finally:
            for reference in under_way:
                ray.cancel(reference)


def _result(reference: ray.ObjectRef) -> Any:
    try:
        return ray.get(reference)
    except RayTaskError as error:
        # What the backend raised, as in this process.
        raise error.cause from None
