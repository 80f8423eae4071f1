"""Which processes run on this machine, for those who clear up behind others."""

import contextlib
import errno
import os
import signal
import socket
from pathlib import Path

SEES_PROCESSES = not hasattr(signal, "CTRL_C_EVENT")
"""Whether the system says which processes there are; on Windows `os.kill` interrupts or ends what it is asked about."""


def identify_machine() -> str:
    """Tell apart the machines, their boots, and the name spaces in which processes are numbered."""
    parts = [socket.gethostname()]
    with contextlib.suppress(OSError):
        parts += [Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip(), os.readlink("/proc/self/ns/pid")]
    return " ".join(parts)


def find_beginning(pid: int) -> str | None:
    """Say when a process of this machine began; None where there is none, or only what a dead one leaves.

    Empty where the system does not say when, or, as Windows, which processes there are.
    """
    if not SEES_PROCESSES:
        return ""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return None if state in b"ZX" else fields[18].decode()
    except OSError:
        if Path("/proc/self").exists():
            return None
    try:
        os.kill(pid, 0)
    except OverflowError:
        return None
    except OSError as error:
        return None if error.errno == errno.ESRCH else ""
    return ""
