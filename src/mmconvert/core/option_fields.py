"""Options as the fields of a frozen struct, which the command line, a Python call and a file of options all build.

    class ExportOptions(msgspec.Struct, frozen=True, kw_only=True):
        csv_safe: bool = False
        \"\"\"Escape cells that a spreadsheet would run as a formula.\"\"\"

The text below a field is the help of its option, and its entry in the docstring of the Python function.
"""

import ast
import inspect
import operator
import os
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union

import msgspec

from mmconvert.core.errors import UsageError, quote_value, show, suggest_paths, suggest_spelling

_S = TypeVar("_S", bound=msgspec.Struct)

_TRUE, _FALSE = ("1", "on", "t", "true", "y", "yes"), ("", "0", "f", "false", "n", "no", "off")
_LIMITS: Mapping[str, tuple[Callable[[Any, Any], bool], str]] = {
    "ge": (operator.lt, ">="),
    "gt": (operator.le, ">"),
    "le": (operator.gt, "<="),
    "lt": (operator.ge, "<"),
}
"""Bound -> what tells a number beyond it, and the sign for messages."""


class Place(NamedTuple):
    """What a path must be, in the annotation of a field: `Annotated[Path, Place(folder=True)]`.

    Attributes:
        exists: It exists.
        folder: It is not a file.
        is_remote: Tells texts that are no path but an address, which are taken as they are.
    """

    exists: bool = False
    folder: bool = False
    is_remote: Callable[[str], bool] = lambda text: False


class OptionField(NamedTuple):
    """One option.

    Attributes:
        name: Name of the field, and the keyword; the flag has hyphens.
        kind: Type of one value: bool, int, float, str or Path; object for one that no text stands for.
        default: Value where none is given; `msgspec.NODEFAULT` for an option that must be given.
        several: Takes several values, as a tuple.
        words: The words that one value may be, beside a number where `kind` is one.
        limits: Bounds of a number, `ge`, `gt`, `le` or `lt` -> its value.
        place: What a path must be.
    """

    name: str
    kind: type
    default: Any
    several: bool = False
    words: tuple[str, ...] = ()
    limits: Mapping[str, float] = {}
    place: Place | None = None

    @property
    def flag(self) -> str:
        """The option as it is typed at the terminal."""
        return f"--{self.name.replace('_', '-')}"


@cache
def list_option_fields(struct: type[msgspec.Struct]) -> dict[str, OptionField]:
    """Read the options that a struct holds, by name, in their order."""
    hints = typing.get_type_hints(struct, include_extras=True)
    return {one.name: _read(one.name, hints[one.name], one.default) for one in msgspec.structs.fields(struct)}


def _read(name: str, hint: Any, default: Any) -> OptionField:
    several = False
    words: tuple[str, ...] = ()
    limits: dict[str, float] = {}
    place: Place | None = None
    kinds: list[Any] = []
    pending = [hint]
    while pending:
        one = pending.pop()
        origin, arguments = typing.get_origin(one), typing.get_args(one)
        if origin is Annotated:
            pending.append(arguments[0])
            for extra in arguments[1:]:
                if isinstance(extra, Place):
                    place = extra
                elif isinstance(extra, msgspec.Meta):
                    limits |= {key: value for key in _LIMITS if (value := getattr(extra, key)) is not None}
        elif origin in (Union, types.UnionType):
            pending += arguments
        elif origin is tuple and arguments[1:] == (...,):
            several = True
            pending.append(arguments[0])
        elif origin is Literal:
            words = tuple(map(str, arguments))
        elif one is not types.NoneType:
            kinds.append(one)
    if Path in kinds:
        kind: type = Path
    else:
        kind = next((one for one in (bool, int, float, str) if kinds == [one]), str if words and not kinds else object)
    return OptionField(name, kind, default, several, words, limits, place)


@cache
def read_option_docs(struct: type[msgspec.Struct]) -> dict[str, str]:
    """Read the texts below the fields of a struct; only help and documentation need them."""
    found: dict[str, str] = {}
    for cls in reversed(struct.__mro__):
        if cls in (object, msgspec.Struct) or not issubclass(cls, msgspec.Struct):
            continue
        source = Path(inspect.getfile(cls)).read_text(encoding="utf-8")
        # The class alone: its module would take several times as long to parse.
        own = re.search(rf"^class {cls.__name__}\b.*\n(?:(?:[ \t)].*)?\n)*", source, re.MULTILINE)
        body = ast.parse(own[0]).body[0].body if own else []  # type: ignore[attr-defined]
        for field, below in pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr) and isinstance(field.target, ast.Name):
                found[field.target.id] = " ".join(str(ast.literal_eval(below.value)).split())
    return found


def build_options(struct: type[_S], given: Mapping[str, Any], where: str, command: str | None = None) -> _S:
    """Build the options of a command from keywords, or from a mapping that a file holds.

    Args:
        struct: Class of the options.
        given: Values by name, with `_` or `-`; None leaves an option as it is by default.
        where: File, place in it or function, for messages.
        command: Whose options they are, for messages; None for what `where` says.

    Raises:
        UsageError: A name is unknown, a value is none that the option takes, or the values exclude each other.
    """
    fields = list_option_fields(struct)
    values: dict[str, Any] = {}
    for key, value in given.items():
        field = fields.get(str(key).replace("-", "_"))
        if field is None:
            near = suggest_spelling(str(key).replace("_", "-"), [one.replace("_", "-") for one in fields])
            raise UsageError(f"{where}: {f'{command} has ' if command else ''}no option {key!r}.{near}")
        if value is not None:
            values[field.name] = _convert_value(field, value, where, str(key))
    for field in fields.values():
        if field.default is msgspec.NODEFAULT and field.name not in values:
            raise UsageError(f"{where}: Missing option '{field.flag}'.")
    try:
        return struct(**values)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def copy_options(struct: type[_S], source: msgspec.Struct, **others: Any) -> _S:
    """Build a struct of those fields that another has under the same name, and of others.

    Args:
        struct: What is built.
        source: Where the common fields are taken from.
        others: Fields of `struct` that `source` has under another name, or not at all.
    """
    same = {name: getattr(source, name) for name in struct.__struct_fields__ if name in source.__struct_fields__}
    return struct(**(same | others))


def check_plain(values: Iterable[Any], where: str, *, several: bool, boolean: bool, whole: bool) -> None:
    """Refuse what would be taken in silence: a list as one text, a word that YAML reads as true, half a number.

    Args:
        values: What was given for an option.
        where: The option, for messages.
        several: It takes several values.
        boolean: It is on or off.
        whole: It is a whole number.

    Raises:
        UsageError: A value is of that kind.
    """
    for single in values:
        if isinstance(single, list | tuple | dict):
            expected = "a list of plain values" if several else "one plain value"
            raise UsageError(f"{where}: expected {expected} {show(single)}.")
        if isinstance(single, bool) and not boolean:
            raise UsageError(f"{where}: YAML reads this as true or false {show(single)}. Put it in quotes.")
        if whole and isinstance(single, float) and single % 1:
            raise UsageError(f"{where}: expected a whole number {show(single)}.")


def _convert_value(field: OptionField, value: Any, where: str, key: str) -> Any:
    if field.kind is object and not field.words:
        return value
    values = [value]
    if field.several and isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
        values = list(value)
    whole = field.kind is int
    check_plain(values, f"{where} {key}", several=field.several, boolean=field.kind is bool, whole=whole)
    try:
        read = tuple(read_value(field, single) for single in values)
    except ValueError as error:
        raise UsageError(f"{where}: Invalid value for '{field.flag}': {error}") from None
    return read if field.several else read[0]


def read_value(field: OptionField, value: Any) -> Any:
    """Read one value of an option; of one that is refused it says what click says at the terminal.

    Raises:
        ValueError: It is none that the option takes; the text says why.
    """
    if field.words and (field.kind is str or str(value) in field.words):
        word = str(value)
        if word not in field.words:
            hint = suggest_spelling(word, field.words)
            raise ValueError(f"{word!r} is not one of {', '.join(map(repr, field.words))}.{hint}")
        return word
    if field.words:
        try:
            return _read_number(field, value)
        except ValueError:
            words = " or ".join(field.words)
            raise ValueError(f"expected {words} or a number from {field.limits['ge']} {show(value)}.") from None
    if field.kind is bool:
        return _read_boolean(value)
    if field.kind in (int, float):
        return _read_number(field, value)
    return _read_path(field, value) if field.kind is Path else str(value)


def _read_boolean(value: Any) -> bool:
    word = str(value).strip().lower()
    if word in (*_TRUE, *_FALSE):
        return word in _TRUE
    known = ", ".join(sorted((*_TRUE, *_FALSE)))
    raise ValueError(f"{value!r} is not a valid boolean. Recognized values: {known}")


def _read_number(field: OptionField, value: Any) -> Any:
    try:
        number = field.kind(value)
    except (ValueError, TypeError, OverflowError):
        name = {int: "integer", float: "float"}[field.kind] + (" range" if field.limits else "")
        raise ValueError(f"{value!r} is not a valid {name}.") from None
    if any(_LIMITS[key][0](number, limit) for key, limit in field.limits.items()):
        raise ValueError(f"{number} is not in the range {_format_range(field.limits)}.")
    return number


def _format_range(limits: Mapping[str, float]) -> str:
    low = next((f"{limits[key]}{sign}" for key, sign in (("ge", "<="), ("gt", "<")) if key in limits), None)
    high = next((f"{_LIMITS[key][1]}{limits[key]}" for key in ("le", "lt") if key in limits), None)
    if low is not None and high is not None:
        return f"{low}x{high}"
    return f"x{high}" if high is not None else f"x{'>=' if 'ge' in limits else '>'}{limits.get('ge', limits.get('gt'))}"


def _read_path(field: OptionField, value: Any) -> str | Path:
    place = field.place or Place()
    if place.is_remote(str(value)):
        return str(value)
    path = Path(value)
    kind = "Directory" if place.folder else "Path"
    if "\0" in str(path):
        raise ValueError(f"{kind} {quote_value(str(value))} has a NUL, which no path has.")
    if place.exists and not os.path.exists(path):
        raise ValueError(f"{kind} {str(value)!r} does not exist.{suggest_paths(path)}")
    if place.folder and os.path.isfile(path):
        raise ValueError(f"{kind} {str(value)!r} is a file.")
    if place.exists and not os.access(path, os.R_OK):
        raise ValueError(f"{kind} {str(value)!r} is not readable.")
    return path
