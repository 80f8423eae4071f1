"""Dataclasses whose objects cannot be changed and are made by the million."""

from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any, NoReturn, TypeVar, dataclass_transform

_T = TypeVar("_T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[_T]) -> type[_T]:
    """Make a class what `@dataclass(frozen=True, slots=True)` makes of it, with a cheaper constructor.

    That decorator's constructor pays a call for every field. This one fills a plain object and closes it
    last, by giving it a class of the same name that lets nothing be set.

    Args:
        cls: Fields as for `dataclass`, without `__post_init__`.

    Returns:
        The class; its objects are those of a subclass that is made here.
    """

    def close(self: Any) -> None:
        self.__class__ = closed

    cls.__post_init__ = close  # type: ignore[attr-defined]
    made: Any = dataclass(slots=True, unsafe_hash=True)(cls)

    def refuse(self: object, name: str, value: object = None) -> NoReturn:
        raise FrozenInstanceError(f"cannot change {name!r} of a {made.__name__}; make another with replace()")

    def rebuilt(self: object) -> tuple[Any, ...]:
        return made, tuple(getattr(self, name) for name in made.__slots__)

    kept = {name: getattr(made, name) for name in ("__module__", "__qualname__", "__doc__")}
    methods = {
        "__new__": lambda _, *values, **named: made(*values, **named),
        "__init__": lambda *_, **named: None,
        "__setattr__": refuse,
        "__delattr__": refuse,
        "__reduce__": rebuilt,
    }
    closed = type(made.__name__, (made,), {**kept, **methods, "__slots__": ()})
    return made  # type: ignore[no-any-return]
