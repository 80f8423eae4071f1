"""A backend on every node of a Ray cluster: models are opened there, rows travel, the store stays here.

The package and the model's folder are on every node under the same path. Rows of a process or node that
dies are asked of another.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from mmconvert.core.errors import Error
from mmconvert.core.record import Record
from mmconvert.pipeline.ray_cluster import connect
from mmscore.infer.backend import Backend
from mmscore.llm.response_cache import Answer

if TYPE_CHECKING:  # an extra of its own
    import ray

_RESTARTS = 3
_PATIENCE = 1800.0
"""Seconds for a process to come up when there is no other: to find room, and to load a large model."""
_Group = list[tuple[int, Record]]


class _Member:
    """A backend in a process of its own, somewhere in the cluster."""

    def __init__(self, open_member: Callable[[], Backend]) -> None:
        self._backend = open_member()

    def about(self) -> tuple[str, str, int, bool]:
        backend = self._backend
        return backend.name, backend.identity, backend.batch_size, getattr(backend, "prompt_only", False)

    def answer(self, records: Sequence[Record]) -> list[Answer]:
        return list(self._backend.answer(records))


class RayPool:
    """The same backend in several processes of a cluster; see `mmscore.infer.backend.Streaming`."""

    def __init__(self, open_member: Callable[[], Backend], count: int | None = None) -> None:
        """Open the backend on the cluster.

        Args:
            open_member: Opens the backend in a process of the cluster.
            count: Processes; None for one a GPU, or one a node where there is none.

        Raises:
            ModuleNotFoundError: ray is not installed.
            UsageError: As `open_member`, or the cluster cannot be reached.
            Error: The model cannot be loaded.
        """
        import ray

        connect()
        gpus = int(ray.cluster_resources().get("GPU", 0))
        count = count or gpus or len([node for node in ray.nodes() if node["Alive"]])
        needs = {"num_gpus": gpus / count if gpus < count else gpus // count} if gpus else {"num_cpus": 1}
        actor: Any = ray.remote(_Member).options(max_restarts=_RESTARTS, scheduling_strategy="SPREAD", **needs)
        self._members = [actor.remote(open_member) for _ in range(count)]
        # Whichever comes up first: one for which the cluster has no room may be any of them.
        first = _wait_for_results({member.about.remote(): member for member in self._members}, None)[0]
        self.name, self.identity, self._group, self.prompt_only = _read_result(first)
        self.batch_size = self._group * count

    def answer(self, records: Sequence[Record]) -> list[Answer]:
        """Answer records side by side."""
        answers = dict(pair for group in self.stream(iter(records)) for pair in group)
        return [answers[position] for position in range(len(records))]

    def stream(self, records: Iterator[Record]) -> Generator[list[tuple[int, Answer]]]:
        """Answer records as they are drawn, a group a process at a time.

        Raises:
            Error: What a backend raised; or processes died again and again, or none can be started.
        """
        import ray
        from ray.exceptions import RayActorError

        rows = enumerate(records)
        again: deque[_Group] = deque()
        free: deque[Any] = deque()
        # A process gets rows when it answers that it is there: one for which the cluster has no room never does.
        under_way: dict[Any, tuple[Any, _Group]] = {m.about.remote(): (m, []) for m in self._members}
        deaths = 0
        try:
            while True:
                while free and (group := again.popleft() if again else list(islice(rows, self._group))):
                    member = free.popleft()
                    under_way[member.answer.remote([record for _, record in group])] = member, group
                asked = any(group for _, group in under_way.values())
                if free and not asked:
                    return
                for done in _wait_for_results(under_way, None if asked else _PATIENCE):
                    member, group = under_way.pop(done)
                    try:
                        answers = _read_result(done)
                    except RayActorError as error:
                        deaths += 1
                        if deaths > _RESTARTS * len(self._members):
                            raise Error(
                                f"processes of the cluster died again and again ({error}). Run again."
                            ) from None
                        under_way[member.about.remote()] = member, []
                        again += [group] if group else []
                        continue
                    free.append(member)
                    if group:
                        yield [(position, answer) for (position, _), answer in zip(group, answers, strict=True)]
        finally:
            for reference in under_way:
                ray.cancel(reference)


def _wait_for_results(under_way: "Mapping[ray.ObjectRef, object]", seconds: float | None) -> "list[ray.ObjectRef]":
    import ray

    done: list[ray.ObjectRef] = ray.wait(list(under_way), timeout=seconds)[0]
    if not done:
        raise Error(f"no process of the cluster came up within {seconds:g} seconds. Run again when it has room.")
    return done


def _read_result(reference: "ray.ObjectRef") -> Any:
    import ray
    from ray.exceptions import RayTaskError

    try:
        return ray.get(reference)
    except RayTaskError as error:
        # What the backend raised, as in this process.
        raise error.cause from None
