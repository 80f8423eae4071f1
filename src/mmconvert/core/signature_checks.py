"""What public functions owe their caller: wrong keywords and paths are told at once, remedies name keywords."""

import functools
import inspect
import os
import re
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from mmconvert.core.errors import Error, UsageError, did_you_mean, got

_P = ParamSpec("_P")
_R = TypeVar("_R")

_OPTION = re.compile(r"--([a-z][a-z0-9-]*)(?: (\.$|[A-Z][A-Z_]*\b))?")


_PATH = str | Path
_PATHS = _PATH | Sequence[_PATH]
_EXPECTED: Mapping[Any, str] = {
    _PATH: "a path",
    _PATH | None: "a path or None",
    _PATHS: "a path or a list of paths",
}


def python_call(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorate a function that does what a command does.

    What its signature calls a path, or paths, is checked: `str(None)` is the name of a file, too.
    """
    signature = inspect.signature(function)
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in signature.parameters.values())

    @functools.wraps(function)
    def called(*args: _P.args, **given: _P.kwargs) -> _R:
        known = keywords(function) if given or open_ended else {}
        for name in given:
            if name not in known:
                near = did_you_mean(name, known)
                raise UsageError(f"{function.__name__}: no option {name!r}.{near} See help({function.__name__}).")
        _require_paths(function, signature.bind_partial(*args).arguments | given)
        try:
            return function(*args, **given)
        except Error as error:
            known = keywords(function)
            error.args = (in_keywords(str(error), known), *error.args[1:])
            raise

    return called


def _require_paths(function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    hints = keywords(function)
    for name, value in arguments.items():
        hint = hints.get(name)
        expected = _EXPECTED.get(hint)
        several = hint == _PATHS and isinstance(value, Iterable) and not isinstance(value, str | bytes | os.PathLike)
        # What can be drawn once only is left to the function.
        paths = [value] if not several else value if isinstance(value, Sequence) else ()
        for path in paths:
            allowed = path is None and hint == _PATH | None
            if expected is not None and not allowed and not isinstance(path, str | os.PathLike):
                raise UsageError(f"{function.__name__}: {name}: expected {expected} {got(path)}.")


def keywords(function: Callable[..., Any]) -> dict[str, Any]:
    """Give the keywords that a function takes, each with its type; those of `Unpack[...]` among them."""
    hints = typing.get_type_hints(function)
    found: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            found |= typing.get_type_hints(typing.get_args(hints[name])[0])
        elif parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            found[name] = hints[name]
    return found


def in_keywords(message: str, known: Mapping[str, Any]) -> str:
    """Name keywords where a message names options of the command line.

    Args:
        message: What went wrong and what to do.
        known: Keywords with their types; other options stay as they are.

    Example:
        >>> in_keywords("d: exists already. Give --overwrite, or another -o.", {"overwrite": bool})
        'd: exists already. Give overwrite=True, or another -o.'
        >>> in_keywords("Give its folder: --image-root .", {"image_root": str})
        "Give its folder: image_root='.'"
        >>> in_keywords("Raise --max-rows, or add --judge NAME.", {"max_rows": int, "judge": str})
        'Raise max_rows, or add judge=NAME.'
    """

    def keyword(found: re.Match[str]) -> str:
        name = found[1].replace("-", "_")
        if name not in known:
            return found[0]
        if found[2] is None:
            return f"{name}=True" if known[name] is bool else name
        return f"{name}={found[2]!r}" if found[2] == "." else f"{name}={found[2]}"

    return _OPTION.sub(keyword, message)
