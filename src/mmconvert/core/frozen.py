"""Dataclasses whose objects cannot be changed: made by the million, and so many that making the classes takes time."""

from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field
from functools import partial
from typing import Any, TypeVar, dataclass_transform, overload

import msgspec

_T = TypeVar("_T")
_MADE_ANEW = ("__dict__", "__weakref__", "__annot")
"""How names of a class begin that are not its author's."""


@overload
def frozen(cls: type[_T]) -> type[_T]: ...


@overload
def frozen(*, gc: bool) -> Callable[[type[_T]], type[_T]]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[_T] | None = None, *, gc: bool = True) -> type[_T] | Callable[[type[_T]], type[_T]]:
    """Make a class what `@dataclass(frozen=True, slots=True)` makes of it, with a constructor in C.

    That decorator's constructor pays a call for every field, msgspec's none; and that decorator writes and compiles
    methods, for each of the dozens of classes that a command loads. The functions of `dataclasses`, such as `replace`,
    take the objects all the same.

    Args:
        cls: Fields as for `dataclass`, and `__post_init__` if need be.
        gc: Whether Python looks for circles of references that lead through an object. Not to do so makes objects
            cheaper; one that leads to itself is then never freed.

    Returns:
        The class; setting a field of an object raises AttributeError.

    Raises:
        TypeError: The class inherits, or a field is told to stand aside (`field(repr=False)` and the like), which a
            struct cannot.
    """
    if cls is None:
        return partial(_frozen, gc=gc)
    return _frozen(cls, gc)


def _frozen(cls: type[_T], gc: bool) -> type[_T]:
    if cls.__bases__ != (object,):
        raise TypeError(f"{cls.__name__}: cannot be @frozen, for it inherits. Use @dataclass(frozen=True, slots=True).")
    own = {name: value for name, value in vars(cls).items() if not name.startswith(_MADE_ANEW)}
    fields: dict[str, Field[Any]] = dataclass(init=False, repr=False, eq=False)(cls).__dataclass_fields__  # type: ignore[attr-defined]
    aside = [name for name, one in fields.items() if not (one.init and one.repr and one.compare) or one.kw_only]
    if aside:
        raise TypeError(
            f"{cls.__name__}: cannot be @frozen, for {aside[0]} stands aside. Use @dataclass(frozen=True, slots=True)."
        )
    made: Any = msgspec.defstruct(
        cls.__name__,
        [(name, one.type, _default(one)) for name, one in fields.items()],
        module=cls.__module__,
        namespace={name: value for name, value in own.items() if name not in fields} | {"__dataclass_fields__": fields},
        frozen=True,
        gc=gc,
    )
    return made  # type: ignore[no-any-return]


def _default(one: "Field[Any]") -> Any:
    if one.default_factory is not MISSING:
        return msgspec.field(default_factory=one.default_factory)
    return msgspec.NODEFAULT if one.default is MISSING else one.default
