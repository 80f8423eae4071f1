"""Who may open a store: one process alone, or several that share it.

The locks are the operating system's: they end with the process, however that ends. Who is alone keeps `NAME.lock`
as long as it lives. Of those who share, each has it for a moment as it comes and goes, and locks a file of its own
as long as it lives, so that the others can tell who is gone.
"""

import contextlib
import errno
import functools
import glob
import os
import re
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mmconvert.core.errors import Error
from mmconvert.core.lazy import LazyModule
from mmconvert.storage.leases import Presence

if TYPE_CHECKING:  # takes time to load, and who only scores locks nothing
    import filelock
else:
    filelock = LazyModule("filelock")

ANOTHER_OUTPUT = "give another output"
_MEMBER = "member-"
_MEMBER_NAME = re.compile(rf"{_MEMBER}\d+-[0-9a-f]{{8}}")
_PATIENCE = 2.0
"""Seconds for which a process tries again: those who share have the lock for a moment."""

_POLL = 0.01
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


class Held(msgspec.Struct, frozen=True):
    """A store that this process may open; made by `hold`.

    Attributes:
        path: The SQLite file.
        member: Name of this process among those that share the store; "" where it is alone.
        other: How the user has the store stand elsewhere, as the end of a sentence.
    """

    path: Path
    member: str = ""
    other: str = ANOTHER_OUTPUT

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until none of those who share is in such a context; alone there is nothing to wait for."""
        with _lock_of(_beside(self.path, "turn")) if self.member else contextlib.nullcontext():
            yield

    def lives(self, member: object) -> bool:
        """Tell whether a process that shared the store is still there; the file of one that is not is removed."""
        # The name stands in a file that may be an untrusted.
        if not isinstance(member, str) or not _MEMBER_NAME.fullmatch(member):
            return False
        file = _beside(self.path, member)
        return file.exists() and _is_locked(file)


@contextlib.contextmanager
def hold(path: Path, *, share: bool = False, other: str = ANOTHER_OUTPUT) -> Iterator[Held]:
    """Keep other processes away from a store while the context lasts.

    Args:
        path: The SQLite file of the store, existing or not.
        share: Let in those who share as well.
        other: How the user has the store stand elsewhere, see `Held`.

    Raises:
        Error: Another process holds it and does not share, or the file system has no locks.
    """
    # A file of its own: closing any handle of the database would drop SQLite's own locks.
    lock = _lock_of(_beside(path, "lock"), b"" if share else Presence.own().encoded())
    with contextlib.ExitStack() as stack:
        _acquire(lock, path, share=share, other=other)
        stack.callback(_leave, path, lock)
        if not share:
            if (member := next(_members(path), None)) is not None:
                raise Error(f"{path}: in use by {_named(member)}. Wait for it, or {other}.")
            yield Held(path, other=other)
            return
        member = _beside(path, f"{_MEMBER}{os.getpid()}-{secrets.token_hex(4)}")
        own = _lock_of(member, Presence.own(sharing=True).encoded())
        stack.enter_context(own)
        stack.callback(_remove, member)
        lock.release()
        yield Held(path, member.name.removeprefix(f"{path.name}."), other)


def _beside(path: Path, name: str) -> Path:
    return path.with_name(f"{path.name}.{name}")


def _lock_of(file: Path, record: bytes = b"") -> "filelock.FileLock":
    """Make the lock of a file that says who has it; never the soft kind, which a killed process would leave."""
    write = functools.partial(_write, record)
    return filelock.FileLock(file, thread_local=False, fallback_to_soft=False, poll_interval=_POLL, on_acquired=write)


def _write(record: bytes, handle: int) -> None:
    # A word for those who are refused; a full disk has no room for it.
    with contextlib.suppress(OSError):
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, record)


def _named(file: Path) -> Presence:
    """Read who has a lock; nobody is named where the system lets no other process read a locked file."""
    try:
        return Presence.read(file.read_bytes())
    except OSError:
        return Presence.read(b"")


def _acquire(lock: "filelock.FileLock", path: Path, *, share: bool, other: str) -> None:
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            lock.acquire(blocking=False)
        except filelock.Timeout:
            holder = _named(Path(lock.lock_file))
            # Who has the lock for a moment leaves no name in it.
            if time.monotonic() >= end or (holder.pid and not share):
                raise Error(f"{path}: in use by {holder}. Wait for it, or {other}.") from None
            time.sleep(_POLL)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                raise Error(f"{path}: its file system has no locks ({error.strerror}). Use a local folder.") from None
            raise Error(f"{lock.lock_file}: cannot be made ({error.strerror}).") from None
        else:
            return


def _leave(path: Path, lock: "filelock.FileLock") -> None:
    """Remove the files of the locks if nobody is left."""
    with contextlib.suppress(filelock.Timeout), lock.acquire(timeout=_PATIENCE):
        if next(_members(path), None) is None:
            # Removed while held, so that nobody can be holding a file that disappears.
            _remove(_beside(path, "turn"), Path(lock.lock_file))
    lock.release(force=True)


def _members(path: Path) -> Iterator[Path]:
    """Give the files of those who share and are there; those of others are removed."""
    return filter(_is_locked, path.parent.glob(f"{glob.escape(path.name)}.{_MEMBER}*"))


def _is_locked(member: Path) -> bool:
    try:
        with _lock_of(member).acquire(blocking=False):
            _remove(member)
    except filelock.Timeout:
        return True
    return False


def _remove(*files: Path) -> None:
    for file in files:
        # Not every system removes an open file.
        with contextlib.suppress(PermissionError):
            file.unlink(missing_ok=True)
