"""Who may open a store: one process alone, or several that share it.

The locks are the operating system's: they end with the process, however that ends. Of processes that
share, each also locks a file of its own as long as it lives, so that the others can tell who is gone.
"""

import contextlib
import errno
import fcntl
import glob
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from mmconvert.core.errors import Error
from mmconvert.storage.leases import Presence

ANOTHER_OUTPUT = "give another output"
_MEMBER = "member-"
_PATIENCE = 2.0
"""Seconds for which a process that shares tries again: whoever leaves last holds the lock alone for a moment."""


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
        if not self.member:
            yield
            return
        handle = os.open(_beside(self.path, "turn"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def lives(self, member: str) -> bool:
        """Tell whether a process that shared the store is still there; the file of one that is not is removed."""
        file = _beside(self.path, member)
        try:
            handle = os.open(file, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        file.unlink(missing_ok=True)
        return False


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
    lock = _beside(path, "lock")
    handle = _locked_handle(path, lock, share=share, other=other)
    try:
        # A word for those who are refused; a full disk has no room for it.
        with contextlib.suppress(OSError):
            os.ftruncate(handle, 0)
            os.pwrite(handle, Presence.own(sharing=share).encoded(), 0)
        with _membership(path) if share else contextlib.nullcontext("") as member:
            yield Held(path, member, other)
    finally:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Removed while held alone, so that nobody can be holding a file that disappears.
            for left in (_beside(path, "turn"), *path.parent.glob(f"{glob.escape(path.name)}.{_MEMBER}*"), lock):
                left.unlink(missing_ok=True)
        os.close(handle)


def _beside(path: Path, name: str) -> Path:
    return path.with_name(f"{path.name}.{name}")


@contextlib.contextmanager
def _membership(path: Path) -> Iterator[str]:
    member = f"{_MEMBER}{os.getpid()}-{secrets.token_hex(4)}"
    file = _beside(path, member)
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield member
    finally:
        file.unlink(missing_ok=True)
        os.close(handle)


def _locked_handle(path: Path, lock: Path, *, share: bool, other: str) -> int:
    kind, end = (fcntl.LOCK_SH, time.monotonic() + _PATIENCE) if share else (fcntl.LOCK_EX, 0.0)
    while True:
        try:
            handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise Error(f"{lock}: cannot be made ({error.strerror}).") from None
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
            if _same_file(handle, lock):
                return handle
        except BlockingIOError:
            holder = Presence.read(os.pread(handle, 1000, 0))
            if time.monotonic() >= end:
                os.close(handle)
                raise Error(f"{path}: in use by {holder}. Wait for it, or {other}.") from None
            time.sleep(0.05)
        except OSError as error:
            os.close(handle)
            if error.errno in (errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL):
                raise Error(f"{path}: its file system has no locks ({error.strerror}). Use a local folder.") from None
            raise
        # The former holder removed the file between our open and our lock, or leaves just now: try again.
        os.close(handle)


def _same_file(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
