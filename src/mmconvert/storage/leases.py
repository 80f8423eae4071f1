"""Processes that other machines can see: each has a file that it touches as long as it lives.

Locks of the operating system hold for one machine alone where machines share a file system that is mounted with
local locks. This relies on less: a name that only one can make, and a file that, opened again, shows what was closed.

filelock's leases do less: who finds the claim of a machine that is gone has to watch it for as long as a lease lasts,
where one look at the file system's clock is enough here; a claim does not say since when it stands, nor whether its
process shares; and nobody can tell whether a process is there without taking its claim.
"""

import contextlib
import itertools
import json
import os
import secrets
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec.structs import asdict

from mmconvert.storage.atomic import NO_LINKS, build_temporary_path
from mmconvert.storage.processes import SEES_PROCESSES, find_beginning, identify_machine

SILENCE = 60.0
"""Seconds without a touch after which a process of another machine is taken for gone."""

_PULSE = 5.0
_numbers = itertools.count()
_one_thread = threading.Lock()
"""Temporary names are those of a process."""


class Presence(msgspec.Struct, frozen=True):
    """A process as its file names it.

    Attributes:
        host: Name of its machine.
        pid: Its number there.
        since: When it made the file, UTC.
        machine: Boot and name space in which `pid` counts.
        began: When the process began, in the machine's own measure; tells it from a later one of the same number.
        token: Of this file alone.
        sharing: Lets in those who share as well.
    """

    host: str
    pid: int
    since: str
    machine: str
    began: str
    token: str
    sharing: bool = False

    @classmethod
    def own(cls, *, sharing: bool = False) -> "Presence":
        """Describe this process."""
        pid = os.getpid()
        since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        token = f"{pid}-{next(_numbers)}-{secrets.token_hex(6)}"
        return cls(socket.gethostname(), pid, since, identify_machine(), find_beginning(pid) or "", token, sharing)

    @classmethod
    def read(cls, data: bytes) -> "Presence":
        """Read what `encoded` gave.

        Without hard links a file is empty for a moment: whoever makes it has a name soon, or is silent.
        """
        try:
            return cls(**json.loads(data))
        except (ValueError, TypeError):
            return cls("", 0, "", "", "", "")

    def encoded(self) -> bytes:
        """Give the content of the file."""
        return json.dumps(asdict(self)).encode()

    def __str__(self) -> str:
        """Name the process for those whom it keeps waiting."""
        return f"process {self.pid} on {self.host} since {self.since}" if self.pid else "another process"


def put_once(file: Path, data: bytes) -> bool:
    """Make a file with its content at once, unless one stands there.

    Returns:
        Whether this call made it, and no other one.
    """
    new = build_temporary_path(file)
    with _one_thread:
        try:
            # Made again: a link that stands at this name leads to somebody's file.
            new.unlink(missing_ok=True)
            with new.open("xb") as opened:
                opened.write(data)
            os.link(new, file)
            return True
        except FileExistsError:
            # A server that is asked again, its first answer being lost, says so of what it has made itself.
            return new.stat().st_nlink > 1
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
        finally:
            new.unlink(missing_ok=True)
    with contextlib.suppress(FileExistsError), file.open("xb") as opened:
        opened.write(data)
        return True
    return False


def find_owner(file: Path) -> Presence | None:
    """Tell whose file it is; None where there is none, or whoever made it is gone.

    A process of this machine is looked for, where the system says which there are; of any other one counts when it
    last touched the file.
    """
    try:
        with file.open("rb") as opened:
            data, touched = opened.read(), os.fstat(opened.fileno()).st_mtime
    except FileNotFoundError:
        return None
    presence = Presence.read(data)
    if SEES_PROCESSES and presence.machine == identify_machine():
        return presence if find_beginning(presence.pid) == presence.began else None
    return presence if _now(file.parent) - touched < SILENCE else None


@contextlib.contextmanager
def kept_alive(file: Path) -> Iterator[None]:
    """Touch a file of this process now and then while the context lasts."""
    over = threading.Event()

    # By its handle: another file may come to stand at the path. Windows, which takes no handle, lets none come while
    # the file is open.
    handle = os.open(file, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    touched = handle if os.utime in os.supports_fd else file

    def touch() -> None:
        while not over.wait(_PULSE):
            with contextlib.suppress(OSError):
                os.utime(touched)

    thread = threading.Thread(target=touch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        os.close(handle)


def _now(folder: Path) -> float:
    """Ask the file system's own clock: that of another machine may be wrong."""
    probe = build_temporary_path(folder / "clock")
    with _one_thread:
        try:
            probe.unlink(missing_ok=True)
            probe.touch(exist_ok=False)
            return probe.stat().st_mtime
        finally:
            probe.unlink(missing_ok=True)
