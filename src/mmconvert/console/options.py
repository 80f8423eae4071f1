"""The options of a command made from the struct that it builds; see `mmconvert.core.option_fields`."""

import functools
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import click
import msgspec

from mmconvert.core.option_fields import OptionField, Place, list_option_fields, read_option_docs, read_value


def add_struct_options(
    struct: type[msgspec.Struct],
    terminal: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    into: str = "options",
    without: Collection[str] = (),
    before: Mapping[str, Callable[[Any], Any]] | None = None,
) -> Callable[[Callable[..., Any]], Any]:
    """Give a command an option for each field of a struct; the command gets the struct.

    Args:
        struct: Class of the options.
        terminal: Field -> what only the terminal needs, by the names of `click.option`: `metavar`, `short` for a flag
            of one letter, `name` for another name than the field's, `show_default`.
        into: Parameter of the command for the struct.
        without: Fields that the terminal cannot set; they keep their defaults.
        before: Field -> decorator of an option of the command's own that stands before it in the help.
    """
    fields = {name: field for name, field in list_option_fields(struct).items() if name not in without}
    unknown = {*(terminal or {}), *(before or {}), *without} - {*list_option_fields(struct)}
    if unknown:
        raise TypeError(f"{struct.__name__} has no {', '.join(sorted(unknown))}.")

    def decorate(command: Callable[..., Any]) -> Any:
        @functools.wraps(command)
        def call(*args: Any, **given: Any) -> Any:
            options = struct(**{name: given.pop(name) for name in fields})
            return command(*args, **given, **{into: options})

        made: Any = call
        for name, field in reversed(fields.items()):
            made = _build_option(struct, field, dict((terminal or {}).get(name, {})))(made)
            if before is not None and name in before:
                made = before[name](made)
        return made

    return decorate


_METAVARS: dict[type, str] = {int: "N", float: "X"}
"""What the help calls a number."""


def _build_option(struct: type[msgspec.Struct], field: OptionField, terminal: dict[str, Any]) -> Callable[[Any], Any]:
    names = [field.flag, field.name]
    if "name" in terminal:
        names[0] = terminal.pop("name")
    if "short" in terminal:
        names.insert(0, terminal.pop("short"))
    about: dict[str, Any] = {"multiple": field.several}
    if field.default is msgspec.NODEFAULT:
        about["required"] = True
    elif field.kind is bool:
        about |= {"is_flag": True}
    elif field.default not in (None, ()):
        about |= {"default": field.default, "show_default": True}
    if field.kind is not bool:
        about["type"] = _find_type(field)
    if field.kind in _METAVARS and not field.words:
        about["metavar"] = _METAVARS[field.kind]
    return click.option(*names, cls=_FieldOption, struct=struct, **(about | terminal))


class _FieldOption(click.Option):
    """An option whose help is the text below a field, read when somebody wants it."""

    def __init__(self, *args: Any, struct: type[msgspec.Struct], **kwargs: Any) -> None:
        self.struct = struct
        super().__init__(*args, **kwargs)

    @property
    def help(self) -> str | None:
        return read_option_docs(self.struct).get(str(self.name))

    @help.setter
    def help(self, text: str | None) -> None:
        """Leave it: click sets none."""


def _find_type(field: OptionField) -> click.ParamType[Any]:
    if field.words and field.kind is not str:
        return _FieldType(field)
    if field.words:
        return click.Choice(field.words)
    if field.kind is Path:
        return _FieldPath(field)
    if field.limits:
        kind: Any = click.IntRange if field.kind is int else click.FloatRange
        low = field.limits.get("ge", field.limits.get("gt"))
        high = field.limits.get("le", field.limits.get("lt"))
        ranged: click.ParamType[Any] = kind(low, high, min_open="gt" in field.limits, max_open="lt" in field.limits)
        return ranged
    known: dict[type, click.ParamType[Any]] = {str: click.STRING, int: click.INT, float: click.FLOAT}
    if field.kind not in known:
        raise TypeError(f"{field.name}: its type cannot be given as text; leave it out.")
    return known[field.kind]


class _FieldType(click.ParamType[Any]):
    """A value that its field reads."""

    name = "text"

    def __init__(self, field: OptionField) -> None:
        self._field = field

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read it."""
        try:
            return read_value(self._field, value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class _FieldPath(_FieldType, click.Path):
    """A path that is what its field says."""

    def __init__(self, field: OptionField) -> None:
        click.Path.__init__(self, file_okay=not (field.place or Place()).folder)
        self._field = field
