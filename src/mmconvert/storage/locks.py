"""One process at a time writes an output: the others are told who it is, and whoever finds it gone follows it.

`.NAME.lock` beside the output is a presence (see `mmconvert.storage.leases`). Whoever follows a process that is gone
first makes `.NAME.lock.TOKEN`, of the gone one's token, which only one can, and renames it to the lock.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from mmconvert.core.errors import Error, build_write_error, is_no_room
from mmconvert.storage.atomic import clear_leftovers
from mmconvert.storage.leases import Presence, find_owner, kept_alive, put_once

_WAIT = 0.1


class Occupation(msgspec.Struct, frozen=True):
    """An output that this process may write; made by `occupied`.

    Attributes:
        place: The output.
        lock: The file that says so.
        own: This process, as it stands there.
    """

    place: Path
    lock: Path
    own: Presence

    def check(self) -> None:
        """Be sure before publishing that nobody followed while this process stood still.

        Raises:
            Error: Somebody did.
        """
        found = _read(self.lock)
        if found != self.own:
            raise Error(f"{self.place}: {found or 'another process'} has taken over, nothing was changed. Run again.")


@contextlib.contextmanager
def occupied(place: Path, *, sharing: bool = False) -> Iterator[Occupation]:
    """Keep other processes, of this machine and others, from writing an output while the context lasts.

    Args:
        place: The file or folder that shall appear; its folder is made where it is missing.
        sharing: Wait for another one that shares, instead of being refused.

    Raises:
        Error: Another process has it, or the folder cannot be written to.
    """
    target = place.resolve()
    occupation = Occupation(place, target.with_name(f".{target.name}.lock"), Presence.own(sharing=sharing))
    try:
        with contextlib.suppress(FileExistsError):
            target.parent.mkdir(parents=True)
        while (holder := _entered(occupation)) is not None:
            if not (sharing and holder.sharing):
                raise Error(f"{place}: {holder} is writing it. Wait for it, or name another output.")
            time.sleep(_WAIT)
    except OSError as error:
        if is_no_room(error):
            raise build_write_error(place, error) from None
        raise Error(f"{place}: cannot be made: {error.strerror}. Name another folder.") from None
    try:
        _clear(occupation.lock)
        with kept_alive(occupation.lock):
            yield occupation
    finally:
        if _read(occupation.lock) == occupation.own:
            occupation.lock.unlink(missing_ok=True)


def _entered(occupation: Occupation) -> Presence | None:
    """Make the lock, or follow whoever made it and is gone; give who has it otherwise."""
    lock, own = occupation.lock, occupation.own
    while not put_once(lock, own.encoded()):
        before = line = _read(lock)
        file = lock
        while line is not None:
            if (holder := find_owner(file)) is not None:
                return holder
            heir = lock.with_name(f"{lock.name}.{line.token}")
            if put_once(heir, own.encoded()):
                # Whoever followed at the same time may have come and gone since the lock was read.
                if _read(lock) == before:
                    os.replace(heir, lock)
                    return None
                heir.unlink(missing_ok=True)
                break
            # An heir that is gone too has heirs of its own.
            file, line = heir, _read(heir)
        time.sleep(_WAIT)
    return None


def _read(file: Path) -> Presence | None:
    try:
        return Presence.read(file.read_bytes())
    except FileNotFoundError:
        return None


def _clear(lock: Path) -> None:
    """Remove what processes that were killed left of their locks; nobody takes an heir of another one's for his."""
    clear_leftovers(lock)
    for file in lock.parent.glob(f"{lock.name}.*"):
        if find_owner(file) is None:
            file.unlink(missing_ok=True)
