"""Several processes convert the parts of one dataset, each part by one of them; whoever finds all done publishes it.

They meet in `.NAME.share` beside the output, which all of them see, on one machine or many:

    plan.json            what is converted, and how: the same for all
    members/TOKEN        a presence, see `mmconvert.storage.leases`
    claims/00007.0       the token of who converts part 7; 00007.1 of who does it when that one is gone
    TOKEN/...            shards that a member is writing
    data/part-00007-...  shards that are whole
    parts/00007.json     what each file of part 7 gave; written last

Bytes depend on the part alone: a member that was taken for gone and comes back repeats work and harms nothing.
"""

import functools
import itertools
import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from mmconvert.core.errors import Error
from mmconvert.core.rows import Rejected, Where
from mmconvert.dataset.shards import Shard
from mmconvert.pipeline.parts import FilePart, PartResult, convert_part
from mmconvert.storage.atomic import link_or_copy, sync_folder, write_synced
from mmconvert.storage.leases import Presence, find_owner, kept_alive, put_once
from mmconvert.storage.locks import Occupation, occupied

_WAIT = 0.2
_COUNTS = ("rows_read", "images", "predicted", "bytes")

Run = Callable[[Callable[["SharedPart"], None], Iterable["SharedPart"]], Iterator[None]]
"""Runs a function on tasks, as an engine does."""


@contextmanager
def hold_alone(output: Path) -> Iterator[Occupation]:
    """Keep all others from writing a dataset, those who share as well.

    Raises:
        Error: As `occupied`, or others share the work on it.
    """
    with occupied(output) as held:
        if (member := next(_list_members(_find_folder(output)), None)) is not None:
            raise Error(f"{output}: {member} shares it. Give --share too, wait for it, or name another output.")
        clear(output)
        yield held


def clear(output: Path) -> None:
    """Remove what processes left that shared the work on a dataset and are gone; only while it is occupied."""
    if not any(_list_members(_find_folder(output))):
        shutil.rmtree(_find_folder(output), ignore_errors=True)


def join(output: Path, plan: Mapping[str, Any]) -> "Share":
    """Enter this process among those that share a dataset; only while it is occupied.

    Args:
        output: The folder that shall appear.
        plan: JSON values on which its bytes depend.

    Raises:
        Error: Processes that are there have another plan.
    """
    folder = _find_folder(output)
    wanted = json.loads(json.dumps(plan))
    found = _read_plan(folder)
    if found != wanted:
        if (member := next(_list_members(folder), None)) is not None:
            other = ", ".join(name for name in wanted if (found or {}).get(name) != wanted[name])
            raise Error(f"{output}: {member} converts something else into it (other {other}). Name another output.")
        shutil.rmtree(folder, ignore_errors=True)
        for name in ("members", "claims", "data", "parts"):
            (folder / name).mkdir(parents=True)
        write_synced(folder / "new.json", json.dumps(wanted).encode())
        (folder / "new.json").replace(folder / "plan.json")
    own = Presence.own(sharing=True)
    put_once(folder / "members" / own.token, own.encoded())
    return Share(folder, own.token)


class SharedPart(msgspec.Struct, frozen=True):
    """A part that this process has claimed, for a task of an engine."""

    part: FilePart
    folder: Path
    token: str


class Share:
    """The work that processes share, and this one's place in it; made by `join`. Leave the context to leave them."""

    def __init__(self, folder: Path, token: str) -> None:
        self._folder = folder
        self._token = token
        self._member = folder / "members" / token
        self._stack = ExitStack()

    def __enter__(self) -> "Share":
        """Begin to be seen."""
        self._stack.enter_context(kept_alive(self._member))
        return self

    def __exit__(self, *_: object) -> None:
        """Be seen no more: what this process has claimed and not done is anybody's."""
        self._stack.close()
        self._member.unlink(missing_ok=True)

    @property
    def data(self) -> Path:
        """Folder of the shards."""
        return self._folder / "data"

    @property
    def stands(self) -> bool:
        """Whether nobody has published the dataset yet."""
        return _read_plan(self._folder) is not None

    def convert_parts(self, parts: Sequence[FilePart], run: Run) -> None:
        """Convert the parts that no other process is at, until all are done, whoever did them.

        Args:
            parts: All parts, in the same order in every process.
            run: The engine.

        Raises:
            PartError: A part of this process's was refused.
        """
        try:
            while left := self._list_undone(parts):
                if not sum(1 for _ in run(convert_shared, self._claim_parts(left))):
                    time.sleep(_WAIT)
        except OSError:
            # Others have done the parts of this process, which stood still, and published.
            if self.stands:
                raise

    def _list_undone(self, parts: Sequence[FilePart]) -> list[FilePart]:
        done = set(os.listdir(self._folder / "parts"))
        return [part for part in parts if _build_result_name(part) not in done]

    def _claim_parts(self, parts: Sequence[FilePart]) -> Iterator[SharedPart]:
        lives = functools.cache(lambda file: find_owner(file) is not None)
        for part in parts:
            if self._claim(part, lives):
                yield SharedPart(part, self._folder, self._token)

    def _claim(self, part: FilePart, lives: Callable[[Path], bool]) -> bool:
        for number in itertools.count():
            claim = self._folder / "claims" / f"{part.index:05d}.{number}"
            if (self._folder / "parts" / _build_result_name(part)).exists():
                return False
            if put_once(claim, self._token.encode()):
                return True
            token = claim.read_text()
            # Without hard links a claim is empty for a moment, and is known by its age alone.
            if lives(self._folder / "members" / token if token else claim):
                return False
        return False

    def read_results(self, parts: Sequence[FilePart], folder: Callable[[FilePart], Path]) -> list[PartResult]:
        """Give what all parts gave, their shards in another folder, too.

        Args:
            parts: All parts.
            folder: Gives the folder for the shards of a part.
        """
        return [result for part in parts for result in self._read_results(replace(part, folder=folder(part)))]

    def _read_results(self, part: FilePart) -> Iterator[PartResult]:
        told = json.loads((self._folder / "parts" / _build_result_name(part)).read_bytes())
        for file, facts in zip(part.files, told, strict=True):
            shards = [Shard(**shard) for shard in facts["shards"]]
            for shard in shards:
                link_or_copy(self.data / shard.file, part.folder / shard.file)
            rejects = [Rejected(**{**reject, "where": Where(**reject["where"])}) for reject in facts["rejects"]]
            counts = {name: facts[name] for name in _COUNTS}
            found = PartResult(file, shards, facts["ids"], facts["kin"], rejects, Counter(facts["warnings"]), **counts)
            found.stamps = facts["stamps"]
            yield found

    def remove(self) -> None:
        """Remove the work, now that the dataset stands; only while it is occupied."""
        (self._folder / "plan.json").unlink()
        shutil.rmtree(self._folder, ignore_errors=True)


def convert_shared(task: SharedPart) -> None:
    """Convert a part and tell the others what it gave.

    Raises:
        PartError: As `convert_part`.
        ChangedError: As `convert_part`.
    """
    own = task.folder / task.token
    own.mkdir(exist_ok=True)
    results = convert_part(replace(task.part, folder=own))
    for shard in (shard for result in results for shard in result.shards):
        (own / shard.file).replace(task.folder / "data" / shard.file)
    sync_folder(task.folder / "data")
    new = own / _build_result_name(task.part)
    write_synced(new, json.dumps(list(map(_encode_result, results))).encode())
    new.replace(task.folder / "parts" / new.name)
    sync_folder(task.folder / "parts")


def _build_result_name(part: FilePart) -> str:
    return f"{part.index:05d}.json"


def _encode_result(result: PartResult) -> dict[str, Any]:
    facts = {name: getattr(result, name) for name in ("ids", "kin", "warnings", "stamps", *_COUNTS)}
    shards = [asdict(shard) for shard in result.shards]
    return {**facts, "shards": shards, "rejects": list(map(_encode_rejected, result.rejects))}


def _encode_rejected(reject: Rejected) -> dict[str, Any]:
    where = {name: getattr(reject.where, name) for name in ("file", "row", "line", "offset")}
    return {"where": where, **{name: getattr(reject, name) for name in ("code", "message", "field", "id")}}


def _find_folder(output: Path) -> Path:
    target = output.resolve()
    return target.with_name(f".{target.name}.share")


def _read_plan(folder: Path) -> Any:
    try:
        return json.loads((folder / "plan.json").read_bytes())
    except FileNotFoundError:
        return None


def _list_members(folder: Path) -> Iterator[Presence]:
    """Give the processes that share and are there."""
    for file in (folder / "members").glob("*-*"):
        if (member := find_owner(file)) is not None:
            yield member
