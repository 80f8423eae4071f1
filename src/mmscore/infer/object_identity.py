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

from mmscore.infer.adapter import plugin_name
from mmscore.infer.backend import file_identity

_CONSTANTS = (NoneType, bool, int, float, complex, str, bytes, EllipsisType)
_ABOUT_THE_SOURCE = ("__firstlineno__", "__static_attributes__")
"""What Python says of a class beside its members."""

_Seen = dict[int, tuple[int, object]]
"""Objects on the way by address, each with its number; kept, so that no other one gets the address."""

_met: dict[int, tuple["weakref.ref[Any]", str]] = {}

_changed: "weakref.WeakKeyDictionary[FunctionType, dict[str, str]]" = weakref.WeakKeyDictionary()
"""Identities of functions that changed what they hold, by what that is now."""


def code_identity(given: object) -> str:
    """Name an object of the user's by its code: its file, or what was typed where no file stands behind it.

    Args:
        given: A function, a class or an object, which stands for its class.

    Returns:
        Its name and a digest.
    """
    named = plugin_name(given)
    return file_identity(named) if "@" in named else f"{named}:{_digest(given)}"


def object_identity(given: object) -> str:
    """Name an object of the user's by its code and, if it is a function, by what it holds.

    That is its defaults and what it closes over: values by what they are, and what does not say that, such as a loaded
    model, by itself, for as long as this process lives.

    Args:
        given: As `code_identity`.

    Returns:
        Its name and digests.

    Example:
        >>> object_identity(lambda records: ["A"]) == object_identity(lambda records: ["B"])
        False
    """
    if not inspect.isroutine(given):
        return code_identity(given)
    now = _routine_identity(given)
    function = _function(given)
    return now if function is None else _changed.get(function, {}).get(now, now)


@contextlib.contextmanager
def kept_identity(given: object) -> Iterator[str]:
    """Give the `object_identity` that an object keeps whatever it changes of itself meanwhile, such as a count.

    What the user changes before or after makes it another one.

    Args:
        given: As `code_identity`.

    Example:
        >>> held = []
        >>> answer = lambda records, held=held: held
        >>> with kept_identity(answer) as before:
        ...     held.append(1)
        >>> object_identity(answer) == before
        True
    """
    identity = object_identity(given)
    try:
        yield identity
    finally:
        function = _function(given)
        if function is not None:
            _changed.setdefault(function, {})[_routine_identity(given)] = identity


def _function(given: object) -> FunctionType | None:
    """Give the function behind a method, which is an object of its own each time; None for what is built in."""
    found = getattr(given, "__func__", given)
    return found if isinstance(found, FunctionType) else None


def _routine_identity(given: object) -> str:
    return f"{file_identity(plugin_name(given))}:{_digest(given)}"


def _digest(given: object) -> str:
    made = given if inspect.isroutine(given) or isinstance(given, type) else type(given)
    return hashlib.sha256(repr(_parts(made, {})).encode("utf-8", "backslashreplace")).hexdigest()


def _parts(value: Any, seen: _Seen) -> Any:
    """Give what a value is made of, as something whose repr says it all."""
    if isinstance(value, _CONSTANTS):
        return type(value).__qualname__, repr(value)
    if isinstance(value, CodeType):
        return _code(value, seen)
    if type(value) is tuple:
        return tuple(_parts(one, seen) for one in value)
    if id(value) in seen:
        return ("again", seen[id(value)][0])
    seen[id(value)] = len(seen), value
    if type(value) is list:
        return [_parts(one, seen) for one in value]
    if type(value) is dict:
        return {"dict": [(_parts(key, seen), _parts(one, seen)) for key, one in value.items()]}
    if type(value) in (set, frozenset):
        return {"set": sorted(repr(_parts(one, seen)) for one in value)}
    if isinstance(value, functools.partial):
        return ("partial", *(_parts(one, seen) for one in (value.func, value.args, value.keywords)))
    if isinstance(value, ModuleType):
        return ("module", value.__name__)
    if isinstance(value, type):
        return _class(value, seen)
    return _routine(value, seen) if inspect.isroutine(value) else ("itself", _token(value))


def _code(code: CodeType, seen: _Seen) -> tuple[Any, ...]:
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return ("code", code.co_code, code.co_exceptiontable, counts, names, _parts(code.co_consts, seen))


def _routine(value: Any, seen: _Seen) -> tuple[Any, ...]:
    if isinstance(value, MethodType):
        return ("method", _parts(value.__func__, seen), _parts(value.__self__, seen))
    named = plugin_name(value)
    if not isinstance(value, FunctionType):
        return ("built in", named, _parts(getattr(value, "__self__", None), seen))
    kept = [cell.cell_contents for cell in value.__closure__ or () if cell != CellType()]
    held = [_parts(one, seen) for one in (value.__code__, value.__defaults__, value.__kwdefaults__, kept)]
    return ("function", file_identity(named), *held, *([] if "@" in named else _globals(value, seen)))


def _globals(function: FunctionType, seen: _Seen) -> list[Any]:
    """Take the code and the constants that a function finds around it; objects have their name in the model's."""
    found = {name: function.__globals__.get(name) for name in sorted(set(_global_names(function.__code__)))}
    return [(name, _parts(value, seen)) for name, value in found.items() if _is_fixed(value)]


def _global_names(code: CodeType) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if "GLOBAL" in step.opname or step.opname == "LOAD_NAME":
            yield step.argval
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _global_names(inner)


def _is_fixed(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_fixed, value))
    return isinstance(value, (*_CONSTANTS, FunctionType, type))


def _class(made: type, seen: _Seen) -> tuple[Any, ...]:
    named = plugin_name(made)
    if "@" in named or made.__module__ == "builtins":
        return ("class", file_identity(named))
    members = {name: _unbound(value) for name, value in vars(made).items() if name not in _ABOUT_THE_SOURCE}
    bases = [_parts(base, seen) for base in made.__bases__]
    return ("class", named, bases, [(name, _parts(one, seen)) for name, one in members.items() if _is_fixed(one)])


def _unbound(member: object) -> object:
    """Give the functions behind what a class makes of them."""
    if isinstance(member, property):
        return member.fget, member.fset, member.fdel
    return member.__func__ if isinstance(member, staticmethod | classmethod) else member


def _token(value: object) -> str:
    """Name an object that cannot be told apart otherwise; no other one in this or any other process has the name."""
    known = _met.get(id(value))
    if known is not None and known[0]() is value:
        return known[1]
    token = secrets.token_hex(16)
    # What takes no reference is another one each time.
    with contextlib.suppress(TypeError):
        _met[id(value)] = weakref.ref(value), token
    return token
