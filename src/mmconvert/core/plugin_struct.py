"""The base of the structs that plug-ins make and are given."""

import functools
from dataclasses import Field, make_dataclass
from typing import Any, ClassVar

import msgspec


class _DataclassFields:
    """What the functions of `dataclasses` look for in a class."""

    def __get__(self, instance: object, owner: type[msgspec.Struct]) -> dict[str, Field[Any]]:
        return _list_dataclass_fields(owner)


class PluginStruct(msgspec.Struct, frozen=True):
    """A frozen struct that `dataclasses.replace`, `asdict` and `fields` take as well.

    The documented way for a plug-in to change a record is `dataclasses.replace`, and Python 3.11 and 3.12 have no
    `copy.replace`. Structs that no plug-in meets need none of this: they inherit from `msgspec.Struct`.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]] = _DataclassFields()  # type: ignore[assignment]


@functools.cache
def _list_dataclass_fields(struct: type[msgspec.Struct]) -> dict[str, Field[Any]]:
    made: Any = make_dataclass(struct.__name__, struct.__struct_fields__, init=False, repr=False, eq=False)
    fields: dict[str, Field[Any]] = made.__dataclass_fields__
    return fields
