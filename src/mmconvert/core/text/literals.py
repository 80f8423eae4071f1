"""Lists that a source wrote into a text cell: JSON, else a Python literal, read and never run.

`ast.literal_eval` would compile the text; this reader knows lists and tuples of strings, numbers,
True, False and None, with caps on size and depth, and nothing else.
"""

import math
import re
import sys
from typing import Any

from mmconvert.core.errors import RowError, show
from mmconvert.core.text.json import parse_json

MAX_DEPTH = 16
MAX_ITEMS = 10_000

_TOKEN = re.compile(
    r"""\s*(?:(?P<open>[\[(])|(?P<close>[\])])|(?P<comma>,)
        |(?P<prefix>[rRuUbBfF]{0,2})(?P<string>'''|\"\"\"|'|")
        |(?P<number>[+-]?(?:[0-9][0-9_]*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
        |(?P<word>True|False|None)\b)""",
    re.VERBOSE,
)
# Possessive, so that a long text costs its length once, however many quotes in it are escaped.
_BODIES = {
    "'": re.compile(r"((?:[^\\']|\\.)*+)'", re.DOTALL),
    '"': re.compile(r'((?:[^\\"]|\\.)*+)"', re.DOTALL),
    "'''": re.compile(r"((?:[^\\']|\\.|'(?!''))*+)'''", re.DOTALL),
    '"""': re.compile(r'((?:[^\\"]|\\.|"(?!""))*+)"""', re.DOTALL),
}
_WORDS = {"True": True, "False": False, "None": None}
_ESCAPE = re.compile(
    r"\\(?:(\n)|([\\'\"abfnrtv])|([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_SIMPLE = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))


def _unescape(match: re.Match[str]) -> str:
    newline, simple, octal, *codes, other = match.groups()
    if newline:
        return ""
    if simple:
        return _SIMPLE.get(simple, simple)
    if octal:
        return chr(int(octal, 8))
    code = next((c for c in codes if c), None)
    if code:
        number = int(code, 16)
        if number > sys.maxunicode:
            raise RowError("list.syntax", "", f"no character has this number {show(match[0])}.")
        return chr(number)
    return "\\" + other


def _read_number(text: str) -> int | float:
    try:
        number = int(text) if text.lstrip("+-").isdigit() else float(text)
    except ValueError:
        raise RowError("list.number", "", f"a number has too many digits {show(text)}.") from None
    if number in (math.inf, -math.inf):
        raise RowError("list.number", "", f"a number is out of range {show(text)}.")
    return number


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at, self.items = text, 0, 0

    def read_token(self) -> re.Match[str]:
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            raise RowError("list.syntax", "", f"this is no list of texts and numbers {show(self.text)}.")
        self.at = match.end()
        return match

    def read_string(self, match: re.Match[str]) -> str:
        if match["prefix"].lower() not in ("", "u", "r"):
            raise RowError("list.syntax", "", f"this is no list of texts and numbers {show(self.text)}.")
        body = _BODIES[match["string"]].match(self.text, self.at)
        if body is None:
            raise RowError("list.syntax", "", f"a quote in this list never closes {show(self.text)}.")
        self.at = body.end()
        raw = body[1]
        if match["prefix"].lower() == "r" or "\\" not in raw:
            return raw
        text = _ESCAPE.sub(_unescape, raw)
        if not text.isascii() and _SURROGATE.search(text):
            raise RowError("text.surrogate", "", "a \\u escape is half a character (a lone surrogate).")
        return text

    def read_value(self, match: re.Match[str], depth: int) -> Any:
        self.items += 1
        if self.items > MAX_ITEMS:
            raise RowError("list.size", "", f"the list holds more than {MAX_ITEMS:,} items.")
        if match["open"]:
            return self.read_sequence(")" if match["open"] == "(" else "]", depth + 1)
        if match["string"]:
            return self.read_string(match)
        if match["number"]:
            return _read_number(match["number"].replace("_", ""))
        if match["word"]:
            return _WORDS[match["word"]]
        raise RowError("list.syntax", "", f"this is no list of texts and numbers {show(self.text)}.")

    def read_sequence(self, closing: str, depth: int) -> list[Any]:
        if depth > MAX_DEPTH:
            raise RowError("list.depth", "", f"the list is nested more than {MAX_DEPTH} deep.")
        values: list[Any] = []
        while True:
            match = self.read_token()
            if match["close"] == closing:
                return values
            values.append(self.read_value(match, depth))
            match = self.read_token()
            if match["close"] == closing:
                return values
            if not match["comma"]:
                raise RowError("list.syntax", "", f"a comma is missing in this list {show(self.text)}.")


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
        mmconvert.core.errors.RowError: this is no list of texts and numbers (got "[__import__('os')]").
    """
    text = text.strip()
    try:
        value = parse_json(text)
    except RowError:
        reader = _Reader(text)
        value = reader.read_value(reader.read_token(), 0)
        if text[reader.at :].strip():
            raise RowError(
                "list.syntax", "", f"something follows the list {show(text[reader.at :].strip())}."
            ) from None
    if not isinstance(value, list):
        raise RowError("list.type", "", f"expected a list {show(text)}.")
    return value


def looks_like_list(text: str) -> bool:
    """Tell a cell that is meant as a list from plain text, as VLMEvalKit does: `[` first, `]` last.

    Example:
        >>> looks_like_list(" ['a'] "), looks_like_list("[sic] yes")
        (True, False)
    """
    text = text.strip()
    return text.startswith("[") and text.endswith("]")
