"""What an object of the user's is made of, so that another one of the same name shares no answers with it."""

import contextlib
import dis
import functools
import hashlib
import inspect
import secrets
import weakref
from collections.abc import Iterator
from types import CellType, CodeType, EllipsisType, FunctionType, MethodType, ModuleType, NoneType
from typing import Any

from mmscore.infer.adapter import build_plugin_name
from mmscore.infer.backend import identify_file

_CONSTANTS = (NoneType, bool, int, float, complex, str, bytes, EllipsisType)
_ABOUT_THE_SOURCE = ("__firstlineno__", "__static_attributes__")
"""What Python says of a class beside its members."""

_Seen = dict[int, tuple[int, object]]
"""Objects on the way by address, each with its number; kept, so that no other one gets the address."""

_met: dict[int, tuple["weakref.ref[Any]", str]] = {}

_changed: "weakref.WeakKeyDictionary[FunctionType, dict[str, str]]" = weakref.WeakKeyDictionary()
"""Identities of functions that changed what they hold, by what that is now."""


def identify_code(given: object) -> str:
    """Name an object of the user's by its code: its file, or what was typed where no file stands behind it.

    Args:
        given: A function, a class or an object, which stands for its class.

    Returns:
        Its name and a digest.
    """
    named = build_plugin_name(given)
    return identify_file(named) if "@" in named else f"{named}:{_digest(given)}"


def identify_object(given: object) -> str:
    """Name an object of the user's by its code and, if it is a function, by what it holds.

    That is its defaults and what it closes over: values by what they are, and what does not say that, such as a loaded
    model, by itself, for as long as this process lives.

    Args:
        given: As `identify_code`.

    Returns:
        Its name and digests.

    Example:
        >>> identify_object(lambda records: ["A"]) == identify_object(lambda records: ["B"])
        False
    """
    if not inspect.isroutine(given):
        return identify_code(given)
    now = _identify_routine(given)
    function = _find_function(given)
    return now if function is None else _changed.get(function, {}).get(now, now)


@contextlib.contextmanager
def keep_identity(given: object) -> Iterator[str]:
    """Give the `identify_object` that an object keeps whatever it changes of itself meanwhile, such as a count.

    What the user changes before or after makes it another one.

    Args:
        given: As `identify_code`.

    Example:
        >>> held = []
        >>> answer = lambda records, held=held: held
        >>> with keep_identity(answer) as before:
        ...     held.append(1)
        >>> identify_object(answer) == before
        True
    """
    identity = identify_object(given)
    try:
        yield identity
    finally:
        function = _find_function(given)
        if function is not None:
            _changed.setdefault(function, {})[_identify_routine(given)] = identity


def _find_function(given: object) -> FunctionType | None:
    """Give the function behind a method, which is an object of its own each time; None for what is built in."""
    found = getattr(given, "__func__", given)
    return found if isinstance(found, FunctionType) else None


def _identify_routine(given: object) -> str:
    return f"{identify_file(build_plugin_name(given))}:{_digest(given)}"


def _digest(given: object) -> str:
    made = given if inspect.isroutine(given) or isinstance(given, type) else type(given)
    return hashlib.sha256(repr(_list_parts(made, {})).encode("utf-8", "backslashreplace")).hexdigest()


def _list_parts(value: Any, seen: _Seen) -> Any:
    """Give what a value is made of, as something whose repr says it all."""
    if isinstance(value, _CONSTANTS):
        return type(value).__qualname__, repr(value)
    if isinstance(value, CodeType):
        counts = (value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount, value.co_flags)
        names = (value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars)
        return ("code", value.co_code, value.co_exceptiontable, counts, names, _list_parts(value.co_consts, seen))
    if type(value) is tuple:
        return tuple(_list_parts(one, seen) for one in value)
    if id(value) in seen:
        return ("again", seen[id(value)][0])
    seen[id(value)] = len(seen), value
    if type(value) is list:
        return [_list_parts(one, seen) for one in value]
    if type(value) is dict:
        return {"dict": [(_list_parts(key, seen), _list_parts(one, seen)) for key, one in value.items()]}
    if type(value) in (set, frozenset):
        return {"set": sorted(repr(_list_parts(one, seen)) for one in value)}
    if isinstance(value, functools.partial):
        return ("partial", *(_list_parts(one, seen) for one in (value.func, value.args, value.keywords)))
    if isinstance(value, ModuleType):
        return ("module", value.__name__)
    if isinstance(value, type):
        return _describe_class(value, seen)
    return _describe_routine(value, seen) if inspect.isroutine(value) else ("itself", _build_token(value))


def _describe_routine(value: Any, seen: _Seen) -> tuple[Any, ...]:
    if isinstance(value, MethodType):
        return ("method", _list_parts(value.__func__, seen), _list_parts(value.__self__, seen))
    named = build_plugin_name(value)
    if not isinstance(value, FunctionType):
        return ("built in", named, _list_parts(getattr(value, "__self__", None), seen))
    kept = [cell.cell_contents for cell in value.__closure__ or () if cell != CellType()]
    held = [_list_parts(one, seen) for one in (value.__code__, value.__defaults__, value.__kwdefaults__, kept)]
    return ("function", identify_file(named), *held, *([] if "@" in named else _list_globals(value, seen)))


def _list_globals(function: FunctionType, seen: _Seen) -> list[Any]:
    """Take the code and the constants that a function finds around it; objects have their name in the model's."""
    found = {name: function.__globals__.get(name) for name in sorted(set(_list_global_names(function.__code__)))}
    return [(name, _list_parts(value, seen)) for name, value in found.items() if _is_fixed(value)]


def _list_global_names(code: CodeType) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if "GLOBAL" in step.opname or step.opname == "LOAD_NAME":
            yield step.argval
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _list_global_names(inner)


def _is_fixed(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_fixed, value))
    return isinstance(value, (*_CONSTANTS, FunctionType, type))


def _describe_class(made: type, seen: _Seen) -> tuple[Any, ...]:
    named = build_plugin_name(made)
    if "@" in named or made.__module__ == "builtins":
        return ("class", identify_file(named))
    members = {name: _unbind(value) for name, value in vars(made).items() if name not in _ABOUT_THE_SOURCE}
    bases = [_list_parts(base, seen) for base in made.__bases__]
    return ("class", named, bases, [(name, _list_parts(one, seen)) for name, one in members.items() if _is_fixed(one)])


def _unbind(member: object) -> object:
    """Give the functions behind what a class makes of them."""
    if isinstance(member, property):
        return member.fget, member.fset, member.fdel
    return member.__func__ if isinstance(member, staticmethod | classmethod) else member


def _build_token(value: object) -> str:
    """Name an object that cannot be distinguished otherwise; no other one in this or any other process has the name."""
    known = _met.get(id(value))
    if known is not None and known[0]() is value:
        return known[1]
    token = secrets.token_hex(16)
    # What takes no reference is another one each time.
    with contextlib.suppress(TypeError):
        _met[id(value)] = weakref.ref(value), token
    return token
