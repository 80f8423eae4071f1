"""`NAME:k=v,k2=v2`: a plug-in and its parameters as a user writes them on the command line."""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mmconvert.core.errors import UsageError, show, suggest_spelling

_KEY = r"\s*[A-Za-z_][A-Za-z0-9_-]*\s*="
_NEXT = re.compile(rf",(?={_KEY})")
_QUOTED = re.compile(rf'((?:\A|,){_KEY})\s*("(?:[^"\\]|\\.)*")\s*(?=,{_KEY}|\Z)', re.DOTALL)
_MARK = "\0"
_WORDS = {**dict.fromkeys(("true", "yes", "on", "1"), True), **dict.fromkeys(("false", "no", "off", "0"), False)}


def parse_spec(text: str) -> tuple[str, dict[str, str]]:
    """Take apart `NAME:k=v,k2=v2`.

    A comma belongs to a value unless `key=` follows it, so that `color=255,0,0` is one value. A value in double
    quotes is read as JSON's texts are, whatever stands in it.

    Args:
        text: What the user wrote; the name may be `file.py@NAME`.

    Returns:
        The name, and the values by key as texts; a hyphen in a key is an underscore.

    Raises:
        UsageError: There is no name, a parameter has no `=`, or a key stands there twice.

    Example:
        >>> parse_spec("draw_boxes:color=255,0,0,width=2")
        ('draw_boxes', {'color': '255,0,0', 'width': '2'})
        >>> parse_spec("my.py@STEP")
        ('my.py@STEP', {})
        >>> parse_spec('system_prompt:text="Be kind, style=plain."')
        ('system_prompt', {'text': 'Be kind, style=plain.'})
    """
    name, colon, tail = text.partition(":")
    name = name.strip()
    if not name:
        raise UsageError(f"a name must come first {show(text)}. Write NAME or NAME:key=value,key=value.")
    values: dict[str, str] = {}
    # A value with a NUL of its own is left as it is: nothing stands for the quoted ones then.
    quoted = [] if _MARK in tail else [text for _, text in _QUOTED.findall(tail)]
    tail = _QUOTED.sub(rf"\g<1>{_MARK}", tail) if quoted else tail
    for item in _NEXT.split(tail) if colon else ():
        key, equals, value = item.partition("=")
        key = key.strip().replace("-", "_")
        if not equals or not key.isidentifier():
            raise UsageError(f"{name}: a parameter is written key=value {show(item)}.")
        if key in values:
            raise UsageError(f"{name}: parameter {key!r} is given twice {show(text)}.")
        values[key] = _quote_value(name, key, quoted.pop(0)) if quoted and value == _MARK else value
    return name, values


def _quote_value(name: str, key: str, quoted: str) -> str:
    try:
        text: str = json.loads(quoted, strict=False)
    except ValueError:
        raise UsageError(f"{name}: parameter {key!r} is not JSON text {show(quoted)}. Leave the quotes out.") from None
    return text


def refuse_unknown_arguments(name: str, values: Iterable[str], declared: Mapping[str, Any]) -> None:
    """Refuse a parameter that a plug-in does not have.

    Raises:
        UsageError: A parameter is unknown.
    """
    for key in values:
        if key not in declared:
            known = f"Known: {', '.join(declared)}." if declared else "It has none."
            raise UsageError(f"{name}: unknown parameter {key!r}.{suggest_spelling(key, declared)} {known}")


def convert_arguments(name: str, values: Mapping[str, str], declared: Mapping[str, Any]) -> dict[str, Any]:
    """Give every declared parameter its value.

    Args:
        name: The plug-in, for messages.
        values: Texts by key, as `parse_spec` gives them.
        declared: Default by key; a type (bool, int, float, str) stands for a parameter without default.

    Returns:
        A value for each declared key, in their order, of the type of its default.

    Raises:
        UsageError: A key is not declared, one without default is missing, or a text is no such value.

    Example:
        >>> convert_arguments("draw_boxes", {"width": "2"}, {"color": "red", "width": 3, "label": False})
        {'color': 'red', 'width': 2, 'label': False}
    """
    refuse_unknown_arguments(name, values, declared)
    result = {}
    for key, default in declared.items():
        kind = default if isinstance(default, type) else type(default)
        if key not in values:
            if default is kind:
                raise UsageError(f"{name}: parameter {key!r} is missing. Write {name}:{key}={kind.__name__.upper()}.")
            result[key] = default
            continue
        try:
            result[key] = _READERS[kind](values[key])
        except ValueError:
            raise UsageError(f"{name}: parameter {key!r} must be {_KINDS[kind]} {show(values[key])}.") from None
    return result


def _parse_bool(text: str) -> bool:
    word = text.strip().lower()
    if word not in _WORDS:
        raise ValueError(text)
    return _WORDS[word]


def _parse_number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


_READERS: dict[type, Callable[[str], Any]] = {bool: _parse_bool, int: int, float: _parse_number, str: str}
_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
