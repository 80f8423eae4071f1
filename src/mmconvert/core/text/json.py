"""Read JSON strictly: one value, no key twice, no NaN, no lone surrogate."""

import json
import re
import sys
from typing import Any, NoReturn

from mmconvert.core.errors import RowError, quote_value, show

_SURROGATE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}|\\u[dD][c-fC-F][0-9a-fA-F]{2}")


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise RowError(
            "json.duplicate_key", "", f"the key {quote_value(twice)} appears twice in one object. Keep one of them."
        )
    return result


def _has_unicode_escape(text: str) -> bool:
    """Look for a backslash and `u`; from backslash to backslash, which is fast over an image in base64."""
    at = text.find("\\")
    while at != -1 and text[at + 1 : at + 2] != "u":
        at = text.find("\\", at + 2)
    return at != -1


def _reject_constant(name: str) -> NoReturn:
    raise RowError("json.constant", "", f"{name} is not a JSON value. Write null or a number.")


def _parse_finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise RowError("json.number", "", f"a number is out of range {show(text)}.")
    return value


MOST_VALUES = 1_000_000
"""Values of one JSON value: each takes many times the bytes that it is written with."""
_LARGE = 4 * MOST_VALUES
"""Fewer characters cannot hold so many values that it matters."""


def _refuse_many_values(text: str) -> None:
    if len(text) > _LARGE and sum(map(text.count, ",[{")) > MOST_VALUES:
        raise RowError("json.size", "", f"the JSON holds more than {MOST_VALUES:,} values.")


_HOOKS: dict[str, Any] = {"object_pairs_hook": _reject_duplicates, "parse_float": _parse_finite}
_DECODER = json.JSONDecoder(**_HOOKS, parse_constant=_reject_constant)


_LENIENT = json.JSONDecoder(**_HOOKS, parse_constant=lambda name: None)


def parse_json(text: str, *, nan: bool = False) -> Any:
    """Read one JSON value strictly.

    Args:
        text: The whole value, white space around it allowed.
        nan: Read NaN and the infinities, which are no JSON, as null.

    Returns:
        The value; integers of any size, keys in their order.

    Raises:
        RowError: Bad JSON, NaN or Infinity, a key twice in one object, a lone surrogate, a number out
            of range, or nesting too deep to read.

    Example:
        >>> parse_json('{"a": [1, null]}')
        {'a': [1, None]}
    """
    _refuse_many_values(text)
    try:
        value, end = (_LENIENT if nan else _DECODER).raw_decode(text, len(text) - len(text.lstrip(" \t\n\r")))
        if rest := text[end:].strip(" \t\n\r"):
            message = f"something follows the JSON value {show(rest)}. Take it out, or give it its own line."
            raise RowError("json.syntax", "", message)
        if _has_unicode_escape(text) and _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        message = f"bad JSON at character {error.pos + 1}: {error.msg.removesuffix(' starting at')}."
        raise RowError("json.syntax", "", message) from None
    except RecursionError:
        raise RowError("json.depth", "", "the JSON is nested too deeply to read.") from None
    except UnicodeEncodeError:
        raise RowError("text.surrogate", "", "a \\u escape is half a character (a lone surrogate).") from None
    except ValueError:  # what Python says of an integer with more digits than it reads
        raise RowError("json.number", "", f"a number has more than {sys.get_int_max_str_digits():,} digits.") from None
    return value
