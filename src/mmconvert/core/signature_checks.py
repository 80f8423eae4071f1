"""What public functions owe their caller: wrong keywords and paths are told at once, remedies name keywords."""

import functools
import inspect
import os
import re
import textwrap
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import msgspec

from mmconvert.core.errors import Error, UsageError, refuse_long_paths, show, suggest_spelling
from mmconvert.core.option_fields import list_option_fields, read_option_docs

_P = ParamSpec("_P")
_R = TypeVar("_R")

_OPTION = re.compile(r"--([a-z][a-z0-9-]*)(?: (\.$|[A-Z][A-Z_]*\b))?")


_PATH = str | Path
_PATHS = _PATH | Sequence[_PATH]
_EXPECTED: Mapping[Any, str] = {_PATH: "a path", _PATH | None: "a path or None", _PATHS: "a path or a list of paths"}


@typing.overload
def check_python_call(function: Callable[_P, _R]) -> Callable[_P, _R]: ...


@typing.overload
def check_python_call(*, options: type[msgspec.Struct]) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...


def check_python_call(
    function: Callable[..., Any] | None = None, *, options: type[msgspec.Struct] | None = None
) -> Any:
    """Decorate a function that does what a command does.

    What its signature calls a path, or paths, is checked: `str(None)` is the name of a file, too.

    Args:
        function: The function; its keywords may come from `**options: Unpack[SomeKeywords]`.
        options: The struct that has those keywords as fields: `help()` then shows each with default and meaning.
    """
    if function is None:
        return functools.partial(_check_call, options=options)
    return _check_call(function, options)


def _check_call(function: Callable[..., Any], options: type[msgspec.Struct] | None) -> Callable[..., Any]:
    signature = inspect.signature(function)
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in signature.parameters.values())

    @functools.wraps(function)
    def call(*args: Any, **given: Any) -> Any:
        known = read_keywords(function) if given or open_ended else {}
        for name in given:
            if name not in known:
                near = suggest_spelling(name, known)
                raise UsageError(f"{function.__name__}: no option {name!r}.{near} See help({function.__name__}).")
        _require_paths(function, signature.bind_partial(*args).arguments | given)
        try:
            with refuse_long_paths():
                return function(*args, **given)
        except Error as error:
            known = read_keywords(function)
            error.args = (use_keyword_names(str(error), known), *error.args[1:])
            raise

    if options is not None:
        _describe(call, signature, read_keywords(function), options)
    return call


def _describe(call: Any, signature: inspect.Signature, known: Mapping[str, Any], options: type[msgspec.Struct]) -> None:
    """List the options in the signature of a function, and in its docstring in the place of `**options:`."""
    own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    fields, texts = list_option_fields(options), read_option_docs(options)
    names = [name for name in fields if name in known and name not in signature.parameters]
    none, kind = inspect.Parameter.empty, inspect.Parameter.KEYWORD_ONLY
    defaults = {n: none if fields[n].default is msgspec.NODEFAULT else fields[n].default for n in names}
    more = [inspect.Parameter(n, kind, default=defaults[n], annotation=known[n]) for n in names]
    call.__signature__ = signature.replace(parameters=[*own, *more])
    entries = []
    for name in names:
        known_elsewhere = defaults[name] is none or "[default:" in texts[name]
        default = "" if known_elsewhere else f" [default: {defaults[name]!r}]"
        entries.append(
            textwrap.fill(f"{name}: {use_keyword_names(texts[name], known)}{default}", 108, subsequent_indent="    ")
        )
    listed = textwrap.indent("\n".join(entries), " " * 8)
    call.__doc__ = re.sub(r"^ +\*\*\w+:.*\n(?: {9,}.*\n)*", lambda _: f"{listed}\n", call.__doc__, flags=re.MULTILINE)


def _require_paths(function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    hints = read_keywords(function)
    for name, value in arguments.items():
        hint = hints.get(name)
        expected = _EXPECTED.get(hint)
        takes_paths = Path in typing.get_args(hint)
        several = takes_paths and isinstance(value, Iterable) and not isinstance(value, str | bytes | os.PathLike)
        # What can be drawn once only is left to the function.
        paths = [value] if not several else value if isinstance(value, Sequence) else ()
        if expected is None and not (paths and isinstance(paths[0], str | os.PathLike)):
            continue  # data in memory, or no path at all
        for path in paths:
            if takes_paths and isinstance(path, str | os.PathLike) and "\0" in str(path):
                raise UsageError(f"{function.__name__}: {name}: no path has a NUL {show(path)}. Give a path without.")
            allowed = path is None and hint == _PATH | None
            if expected is not None and not allowed and not isinstance(path, str | os.PathLike):
                raise UsageError(f"{function.__name__}: {name}: expected {expected} {show(path)}.")


def read_keywords(function: Callable[..., Any]) -> dict[str, Any]:
    """Give the keywords that a function takes, each with its type; those of `Unpack[...]` among them."""
    function = inspect.unwrap(function)
    hints = typing.get_type_hints(function)
    found: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            found |= typing.get_type_hints(typing.get_args(hints[name])[0])
        elif parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            found[name] = hints[name]
    return found


def use_keyword_names(message: str, known: Mapping[str, Any]) -> str:
    """Name keywords where a message names options of the command line.

    Args:
        message: What went wrong and what to do.
        known: Keywords with their types; other options stay as they are.

    Example:
        >>> use_keyword_names("d: already exists. Give --overwrite, or another -o.", {"overwrite": bool})
        'd: already exists. Give overwrite=True, or another -o.'
        >>> use_keyword_names("Give its folder: --image-root .", {"image_root": str})
        "Give its folder: image_root='.'"
        >>> use_keyword_names("Raise --max-rows, or add --judge NAME.", {"max_rows": int, "judge": str})
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
