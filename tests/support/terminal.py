"""The programs as a terminal sees them, run in this process or on a pseudo-terminal."""

import contextlib
import io
import os
import pty
import re
import subprocess
import sys
import threading
from dataclasses import dataclass

from mmconvert.console.app import run
from mmconvert.core.error_hints import says_what_to_do


@dataclass(frozen=True)
class Shown:
    """What a command left behind: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


def shown(program: str, *arguments: object) -> Shown:
    """Run `mmconvert` or `mmscore` with arguments."""
    module = __import__(f"{program}.cli", fromlist=["program"])
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            run(module.program, list(map(str, arguments)), program=program)
        except SystemExit as ended:
            code = ended.code
    return Shown(int(code or 0), out.getvalue(), err.getvalue())


def mmconvert(*arguments: object) -> Shown:
    """Run `mmconvert` with arguments."""
    return shown("mmconvert", *arguments)


def mmscore(*arguments: object) -> Shown:
    """Run `mmscore` with arguments."""
    return shown("mmscore", *arguments)


def one_message(result: Shown, program: str = "mmconvert") -> str:
    """The one message of a failed command, without the program's name; nothing else may have been said."""
    assert result.out == ""
    assert "Traceback" not in result.err
    assert result.err.endswith("\n")
    if result.err.startswith(("Usage:", "Error:")):
        *_, last = result.err.splitlines()
        return last.removeprefix("Error: ")
    assert result.err.count(f"{program}: ") == 1
    return result.err.removeprefix(f"{program}: ").rstrip("\n")


def on_a_terminal(*command: object, columns: int = 100, term: str = "xterm", timeout: float = 60) -> Shown:
    """Run a program on a real pseudo-terminal: `err` is what stderr's terminal saw, `out` is a pipe's."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": term, "COLUMNS": str(columns)}
    said: list[bytes] = []

    def listen() -> None:
        with contextlib.suppress(OSError):  # the terminal hangs up when its last user goes
            while data := os.read(ours, 65536):
                said.append(data)

    with subprocess.Popen(
        [sys.executable, "-m", *map(str, command)], stdout=subprocess.PIPE, stderr=theirs, text=True, env=environment
    ) as process:
        os.close(theirs)
        listener = threading.Thread(target=listen)
        listener.start()
        out, _ = process.communicate(timeout=timeout)
        listener.join()
    os.close(ours)
    return Shown(process.returncode, out, b"".join(said).decode())


def names_next_step(message: str) -> bool:
    """Tell whether a message ends with what to do: a sentence of its own, the nearest word, a command to try."""
    return (
        says_what_to_do(message) or re.search(r"Did you mean |For example: |requires an argument", message) is not None
    )
