"""Run a command until standard input is closed or the parent is gone, and end it with all that it started.

This file is a program: `python -I -S server_watch.py PARENT_PID COMMAND...`. It is a process of its own, so that a
server does not outlive a parent that was killed, and it imports nothing of the project, so that it starts at once.
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

_GRACE_SECONDS = 10.0
"""Time to end in good order, before what is left is killed."""
_KILL_SECONDS = 5.0
_POLL_SECONDS = 0.2
_PARENT_DEATH_SIGNAL, _CHILD_SUBREAPER = 1, 36
"""Options of Linux's prctl."""


def _control_process(option: int, value: int) -> None:
    """Call prctl, which only Linux has."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _end_with_parent() -> None:
    _control_process(_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def _watch(parent: int, command: Sequence[str]) -> int:
    """Run the command.

    Returns:
        Its exit code, negative for a signal, as `subprocess` has it.
    """
    stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True

    # A handler, not SIG_IGN: the command would inherit that.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    # Processes that lose their parent come here, those in a session of their own too.
    _control_process(_CHILD_SUBREAPER, 1)
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=_end_with_parent)
    try:
        while server.poll() is None and not stopped and os.getppid() == parent:
            if select.select([sys.stdin], [], [], _POLL_SECONDS)[0]:
                break
    finally:
        _end_all()
    # Its code is not known where it was ended here.
    return server.poll() or 0


def _end_all() -> None:
    """Send SIGTERM to all that descends from this process, and SIGKILL to what is left."""
    for number, seconds in ((signal.SIGTERM, _GRACE_SECONDS), (signal.SIGKILL, _KILL_SECONDS)):
        end = time.monotonic() + seconds
        signalled: set[int] = set()
        while time.monotonic() < end:
            left = {pid for pid, state in _list_descendants() if state != "Z"}
            if not left:
                return
            for pid in left - signalled:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
            signalled |= left
            time.sleep(0.05)


def _list_descendants() -> list[tuple[int, str]]:
    """List what descends from this process or shares its group, with its state."""
    own, group = os.getpid(), os.getpgrp()
    found = {own}
    states: dict[int, str] = {}
    processes = list(_list_processes())
    while new := [one for one in processes if one[0] not in found and (one[1] in found or one[2] == group)]:
        for pid, _, _, state in new:
            found.add(pid)
            states[pid] = state
    return list(states.items())


def _list_processes() -> Iterator[tuple[int, int, int, str]]:
    """List processes: id, parent, group, state."""
    if not os.path.isdir("/proc/self"):
        # `ps` itself has ended when its lines are read.
        ended = subprocess.Popen(["ps", "-A", "-o", "pid=,ppid=,pgid=,stat="], stdout=subprocess.PIPE, text=True)
        for line in ended.communicate()[0].splitlines():
            pid, parent, group, state = line.split(maxsplit=3)
            if int(pid) != ended.pid:
                yield int(pid), int(parent), int(group), state[0]
        return
    for name in filter(str.isdecimal, os.listdir("/proc")):
        # A process may end meanwhile.
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
            # The second field is a name in brackets, which may hold anything.
            state, parent, group = file.read().decode(errors="replace").rpartition(")")[2].split()[:3]
            yield int(name), int(parent), int(group), state


if __name__ == "__main__":
    code = _watch(int(sys.argv[1]), sys.argv[2:])
    sys.exit(code if code >= 0 else 128 - code)
