"""The programs as a terminal sees them, run in this process."""

import contextlib
import io
from dataclasses import dataclass

from mmconvert.command_line import run


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
