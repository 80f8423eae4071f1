"""Dataclasses whose objects cannot be changed: made by the million, and so many that making the classes takes time."""

from dataclasses import MISSING, Field, dataclass, field
from typing import Any, TypeVar, dataclass_transform

import msgspec

_T = TypeVar("_T")
_MADE_ANEW = ("__dict__", "__weakref__", "__annot")
"""How names of a class begin that are not its author's."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[_T]) -> type[_T]:
    """Make a class what `@dataclass(frozen=True, slots=True)` makes of it, with a constructor in C.

    That decorator's constructor pays a call for every field, msgspec's takes a quarter of the time; and that decorator
    writes and compiles methods, which takes half a millisecond a class, and a command loads dozens. The functions of
    `dataclasses`, such as `replace`, take the objects all the same.

    Args:
        cls: Fields as for `dataclass`, and `__post_init__` if need be.

    Returns:
        The class; setting a field of an object raises AttributeError.

    Raises:
        TypeError: The class inherits, or a field is told to stand aside (`field(repr=False)` and the like), which a
            struct cannot.
    """
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
    )
    return made  # type: ignore[no-any-return]


def _default(one: "Field[Any]") -> Any:
    if one.default_factory is not MISSING:
        return msgspec.field(default_factory=one.default_factory)
    return msgspec.NODEFAULT if one.default is MISSING else one.default
