"""What a format, a prompt or a transform owes, as checks that run on anybody's.

The project's own tests run them on every plug-in of its own. On yours, from the command line:

    mmconvert check-plugin formats my_format.py@FORMAT example.tsv

or in a test of your own:

    from mmconvert.testing import find_breaches

    def test_my_format():
        assert find_breaches("formats", "my_format.py@FORMAT", ["example.tsv"]) == []

Each kind has a module with its `CHECKS`: what is promised, in words -> a function that yields the find_breaches.
"""

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmconvert.core.errors import (
    Error,
    RowError,
    UsageError,
    build_missing_path_error,
    describe_error,
    suggest_spelling,
)
from mmconvert.testing.breach import Breach

__all__ = ["KINDS", "Breach", "breaches", "breaches_of", "promises"]

KINDS = ("formats", "prompts", "transforms")

Checks = Mapping[str, Callable[[Any], Iterator[str]]]


def find_breaches(kind: str, name: str, examples: Sequence[str | Path] = ()) -> list[Breach]:
    """Run every check of a kind on one plug-in.

    Args:
        kind: One of `KINDS`.
        name: What a user writes on the command line: `file.py@NAME`, or the name of an installed plug-in; parameters
            of a prompt or transform behind a colon.
        examples: Files without fault. A format is read from them (the more kinds of rows, the more is seen); a
            prompt or transform gets their records beside ours.

    Returns:
        Each promise that is not kept, with what to do about it; [] when all are.

    Raises:
        UsageError: The kind, the name or a file is unknown.
    """
    module = _load_module(kind)
    paths = [Path(example) for example in examples]
    for path in paths:
        if not path.exists():
            raise build_missing_path_error(path)
    subject = module.load_subject(name, paths)
    declaration, *others = module.CHECKS
    # What is not even of its kind would break every other promise too.
    wrong = list(run_check(module.CHECKS, declaration, subject))
    return wrong or [breach for check in others for breach in run_check(module.CHECKS, check, subject)]


def list_promises(kind: str) -> tuple[str, ...]:
    """List what plug-ins of a kind promise, in words; where the first is broken, the others are not looked at.

    Raises:
        UsageError: The kind is unknown.
    """
    return tuple(_load_module(kind).CHECKS)


def _load_module(kind: str) -> Any:
    if kind not in KINDS:
        raise UsageError(f"unknown kind {kind!r}.{suggest_spelling(kind, KINDS)} Known: {', '.join(KINDS)}.")
    return importlib.import_module(f"mmconvert.testing.{kind}")


def run_check(checks: Checks, check: str, subject: Any) -> Iterator[Breach]:
    """Run one check; an error that leaves the plug-in where none should is a breach, too.

    Args:
        checks: `CHECKS` of the kind's module.
        check: One of its keys.
        subject: What the kind's `subject` gives.
    """
    try:
        for message in checks[check](subject):
            yield Breach(check, message)
    except RowError as error:
        yield Breach(check, f"{describe_error(error)}. RowError may be raised for one row only, by records or a step.")
    except Error as error:
        yield Breach(check, str(error))
    except Exception as error:
        allowed = "Nothing but mmconvert.core.errors.Error and RowError may leave a plug-in."
        yield Breach(check, f"{describe_error(error)}. {allowed}")


breaches = find_breaches  # the name that plug-ins know from before the first release
