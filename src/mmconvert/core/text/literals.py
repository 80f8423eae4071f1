"""Lists that a source wrote into a text cell: JSON, else a Python literal, read and never run.

Python itself reads the literal, once it is known to hold nothing but lists and tuples of strings, numbers, True,
False and None, few and not deep: what it would make of a long or deep text may take all memory.
"""

import ast
import math
import re
import warnings
from typing import Any

from mmconvert.core.errors import RowError, show
from mmconvert.core.text.json import parse_json

MAX_DEPTH = 16
MAX_ITEMS = 10_000
MAX_SHORT = 10_000
"""Most characters of a text that Python itself may read, whatever it holds."""
_MAX_DIGITS = 4300
"""Most digits of an integer that Python reads."""

# Possessive, so that a long text costs its length once, however many quotes in it are escaped.
_STRING = re.compile(
    r"""([rRuUbBfF]{0,2})('''(?:[^\\']|\\.|'(?!''))*+'''|\"{3}(?:[^\\"]|\\.|"(?!""))*+\"{3}
        |'(?:[^\\']|\\.)*+'|"(?:[^\\"]|\\.)*+")""",
    re.DOTALL | re.VERBOSE,
)
_END = r"(?=\s*(?:[,\])]|\Z))"
_LITERAL = re.compile(
    rf"""(?:[\s\[(,]|[\])]{_END}
        |(?:"|True|False|None|[+-]?(?:[0-9][0-9_]*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?){_END})*+""",
    re.VERBOSE,
)
"""A text of lists in which each string is a `"`: nothing is called, added up or joined, and the tree stays small."""

_MARK = re.compile(r"[\[\](),]")
_ESCAPE = re.compile(r"\\([4-7][0-7]{2}|.)|[\r\n\0]", re.DOTALL)
_PIECE_LENGTH = 4096
_PIECE = re.compile(rf"(?:[^\\]|\\[4-7][0-7]{{2}}|\\.){{1,{_PIECE_LENGTH}}}+", re.DOTALL)
"""A part of a string that holds its escapes whole."""
_ESCAPES = frozenset("\\'\"abfnrtv01234567xuUN\n")
_CONTROLS = {"\r": r"\r", "\n": r"\n", "\0": r"\x00"}
_SURROGATE = re.compile("[\ud800-\udfff]")


def _keep_characters(string: re.Match[str]) -> str:
    """Write a string so that Python keeps each of its characters and has nothing to warn of."""
    if string[1].lower() == "r":
        return string[0]
    if len(string[2]) < _PIECE_LENGTH:
        return string[1] + _ESCAPE.sub(_keep_character, string[2])
    # Piece by piece, as each escape is a text of its own while a piece is made.
    return string[1] + "".join(_ESCAPE.sub(_keep_character, piece[0]) for piece in _PIECE.finditer(string[2]))


def _keep_character(match: re.Match[str]) -> str:
    escaped: str | None = match[1]
    if escaped is None:
        return _CONTROLS[match[0]]
    if len(escaped) == 3:
        return f"\\u{int(escaped, 8):04x}"
    return match[0] if escaped in _ESCAPES else "\\\\" + _CONTROLS.get(escaped, escaped)


def _read_literal(text: str) -> Any:
    # What a long text holds, its strings and its marks, is put into no list: that would take ten times its size.
    bare, strings = _STRING.subn(_hide_string, text, MAX_ITEMS + 1)
    if strings > MAX_ITEMS:
        raise _too_many()
    if not _LITERAL.fullmatch(bare) or not _is_inside_lists(bare):
        raise _no_list(text)
    if long := re.search(rf"[0-9_]{{{_MAX_DIGITS + 1},}}", bare):
        raise RowError("list.number", "", f"a number has too many digits {show(long[0])}.")
    try:
        literal = _STRING.sub(_keep_characters, text) if _ESCAPE.search(text) else text
        return _checked(ast.literal_eval(literal), [])
    except UnicodeEncodeError:
        raise _half_character() from None
    except (SyntaxError, ValueError):
        raise _no_list(text) from None


def _hide_string(string: re.Match[str]) -> str:
    return '"' if string[1].lower() in ("", "u", "r") else "!"


def _is_inside_lists(bare: str) -> bool:
    """Tell whether a text without its strings stands in brackets; refuse one that is too deep or too long."""
    depth = commas = lists = 0
    for found in _MARK.finditer(bare):
        mark = found[0]
        depth += (mark in "[(") - (mark in "])")
        lists += mark in "[("
        commas += mark == ","
        if depth > MAX_DEPTH:
            raise RowError("list.depth", "", f"the list is nested more than {MAX_DEPTH} deep.")
        if commas > MAX_ITEMS or lists > MAX_ITEMS:
            raise _too_many()
        if depth < 0 or (mark == "," and depth < 1):
            return False
    return True


def _no_list(text: str) -> RowError:
    return RowError("list.syntax", "", f"this is not a list of texts and numbers {show(text)}.")


def _checked(value: Any, counted: list[None]) -> Any:
    """Give a value with its tuples as lists."""
    counted.append(None)
    if len(counted) > MAX_ITEMS:
        raise _too_many()
    if isinstance(value, list | tuple):
        return [_checked(item, counted) for item in value]
    if isinstance(value, str) and not value.isascii() and _SURROGATE.search(value):
        raise _half_character()
    if isinstance(value, float) and math.isinf(value):
        raise RowError("list.number", "", "a number is out of range.")
    return value


def _too_many() -> RowError:
    return RowError("list.size", "", f"the list holds more than {MAX_ITEMS:,} items.")


def _half_character() -> RowError:
    return RowError("text.surrogate", "", "a \\u escape is half a character (a lone surrogate).")


def parse_list(text: str) -> list[Any]:
    r"""Read a list from a cell: JSON first, then a Python literal.

    Args:
        text: `["a", "b"]`, `['a', 'b']`, `('a', 1)`, white space around it allowed.

    Returns:
        The elements; strings, numbers, True, False, None or lists of them.

    Raises:
        RowError: Codes `list.syntax`, `list.number`, `list.depth`, `list.size`, `text.surrogate`: anything else.

    Example:
        >>> parse_list("['None', 'don\\'t', 3.5]")
        ['None', "don't", 3.5]
        >>> parse_list("[__import__('os')]")
        Traceback (most recent call last):
            ...
        mmconvert.core.errors.RowError: this is not a list of texts and numbers (got "[__import__('os')]").
    """
    text = text.strip()
    try:
        value = parse_json(text)
    except RowError:
        value = _read_literal(text)
    if not isinstance(value, list):
        raise RowError("list.type", "", f"expected a list {show(text)}.")
    return value


def parse_short_literal(text: str) -> Any:
    r"""Read any literal of Python: also one that JSON spells differently, joins strings or holds a mapping.

    Args:
        text: At most `MAX_SHORT` characters, so that no literal takes much memory.

    Returns:
        What Python makes of it.

    Raises:
        RowError: Code `list.syntax`: it is no literal, or too long.

    Example:
        >>> parse_short_literal("['New' 'York', (1, 2)]")
        ['NewYork', (1, 2)]
        >>> parse_short_literal("[true]")
        Traceback (most recent call last):
            ...
        mmconvert.core.errors.RowError: this is no short literal of Python (got '[true]'). Keep the
        framework's cell as it is.
    """
    try:
        if len(text) <= MAX_SHORT:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # unknown escapes of a source are none of the user's concern
                return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        pass
    raise RowError(
        "list.syntax", "", f"this is no short literal of Python {show(text)}. Keep the framework's cell as it is."
    )


def looks_like_list(text: str) -> bool:
    """Tell a cell that is meant as a list from plain text, as VLMEvalKit does: `[` first, `]` last.

    Example:
        >>> looks_like_list(" ['a'] "), looks_like_list("[sic] yes")
        (True, False)
    """
    text = text.strip()
    return text.startswith("[") and text.endswith("]")
