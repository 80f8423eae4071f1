"""Where text goes that the user's own code prints: a class of a model, of a benchmark.

Standard output of a command is its result, and what such code prints goes to standard error. In the user's own program,
and where the script of a framework is run, it goes where `print` puts it.
"""

import contextlib
import sys
from collections.abc import Iterator

_holders: list[str] = []
"""Commands whose result is on standard output; one runs at a time in a process."""


@contextlib.contextmanager
def hold_output(program: str) -> Iterator[None]:
    """Keep standard output for a command's result."""
    _holders.append(program)
    try:
        yield
    finally:
        _holders.pop()


@contextlib.contextmanager
def divert_prints() -> Iterator[None]:
    """Run code of the user's that may print: to standard error where a command holds standard output."""
    if not _holders:
        yield
        return
    with contextlib.redirect_stdout(sys.stderr):
        yield
