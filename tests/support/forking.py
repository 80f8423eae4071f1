"""Real processes without the wait for imports: a server that has imported the program and forks for every command.

Every child runs under a cap on its address space and under an audit hook that ends it when it opens a socket, starts
a program, or opens a file of a forbidden folder.
"""

import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BROKE_OUT = 97
"""Exit code of a child that the audit hook ended."""

_FORBIDDEN = {"socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.exec", "pty.spawn"}


@dataclass(frozen=True)
class Ended:
    """How a child ended: exit code (negative for a signal), messages, seconds, most bytes resident."""

    code: int
    message: str
    seconds: float
    resident: int


@contextmanager
def forks(forbidden: Path, *, seconds: int, address_space: int) -> Iterator[Callable[[Sequence[object], Path], Ended]]:
    """Start the server; the function it yields runs `mmconvert` with arguments, standard error going to a file."""
    command = [sys.executable, __file__, os.path.realpath(forbidden), str(seconds), str(address_space)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:

        def run(arguments: Sequence[object], errors: Path) -> Ended:
            server.stdin.write(json.dumps([list(map(str, arguments)), str(errors)]) + "\n")
            server.stdin.flush()
            code, passed, resident = json.loads(server.stdout.readline())
            return Ended(code, errors.read_text(errors="replace"), passed, resident)

        yield run
        server.stdin.close()


def _child(arguments: list[str], errors: str, forbidden: str, seconds: int, address_space: int) -> None:
    from mmconvert.cli import main
    from mmconvert.storage import beneath

    for number, target in enumerate((os.devnull, os.devnull, errors)):
        os.dup2(os.open(target, os.O_RDWR | os.O_CREAT), number)
    signal.alarm(seconds)
    resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))

    def watch(event: str, details: tuple[Any, ...]) -> None:
        opened = str(details[0]) if event == "open" else ""
        if event in _FORBIDDEN or (opened and os.path.realpath(opened).startswith(forbidden + os.sep)):
            os.write(2, f"{event} {details}".encode(errors="replace"))
            os._exit(BROKE_OUT)

    sys.addaudithook(watch)
    # The hook is told no more than the last name of a file that is opened below a folder's handle.
    walk = beneath._walk

    def watched_walk(place: str) -> int:
        handle = walk(place)
        watch("open", (os.readlink(f"/proc/self/fd/{handle}"),))
        return handle

    beneath._walk = watched_walk
    sys.argv = ["mmconvert", *arguments]
    code: Any = 1
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        traceback.print_exc()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


def _serve(forbidden: str, seconds: str, address_space: str) -> None:
    # What every conversion imports, its formats with it; the first array brings pandas along.
    import pyarrow

    from mmconvert.plugins.registry import find_plugins, load

    importlib.import_module("mmconvert.cli.convert")
    pyarrow.array([""])
    for group in ("mmconvert.formats", "mmconvert.engines"):
        for name in find_plugins(group):
            load(group, name)
    for line in sys.stdin:
        started = time.monotonic()
        pid = os.fork()
        if pid == 0:
            _child(*json.loads(line), forbidden, int(seconds), int(address_space))
        _, status, usage = os.wait4(pid, 0)
        answer = [os.waitstatus_to_exitcode(status), time.monotonic() - started, usage.ru_maxrss * 1024]
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve(*sys.argv[1:])
