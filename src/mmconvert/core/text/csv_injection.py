"""Texts in tables that a spreadsheet may open: none of them runs there as a formula."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\0", "\r")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def escape_formula(text: str) -> str:
    """Put an apostrophe in front of a text that a spreadsheet would run; a plain number is none.

    Example:
        >>> escape_formula("=1+1"), escape_formula("-50"), escape_formula("a=b")
        ("'=1+1", '-50', 'a=b')
    """
    return "'" + text if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def write_safe_csv(lines: Iterable[Sequence[Any]]) -> str:
    r"""Write lines as CSV whose texts are harmless; numbers stay as they are, None is an empty cell.

    For tables that people open. What programs read is JSON, in which every text is as it was.

    Example:
        >>> write_safe_csv([["model", "score"], ["@best", -0.5]])
        "model,score\n'@best,-0.5\n"
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([escape_formula(cell) if isinstance(cell, str) else cell for cell in line] for line in lines)
    return text.getvalue()
