"""What else is wrong with a row that was refused, found by mending the field that was named.

A format stops at the first fault of a row. Here that field gets the value it has in a good row of the file and the
row is read again, until nothing is wrong with it any more, or only what the mending may have caused.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mmconvert.sources import Rejected, Row

_HEAD = re.compile(r"[^.\[]+")
_BETWEEN_FIELDS = ("placeholder.", "messages.images", "image.names", "options.", "ratings.")
"""Codes of faults between two fields, one of which may be the one that was mended."""


def further_problems(
    row: Row, first: Rejected, good: Mapping[str, Any], read: Callable[[Row], Rejected | None]
) -> Iterator[Rejected]:
    """Look for more problems of a refused row.

    Args:
        row: The row.
        first: Why it was refused.
        good: Fields of a row that was not.
        read: Gives why a row is refused, None for a good one.

    Yields:
        Problems of other fields, one a field.

    Example:
        >>> from mmconvert.sources import Where
        >>> where = Where("a.jsonl", 0, 1)
        >>> def read(row):
        ...     wrong = next((name for name, value in row.fields.items() if value is None), None)
        ...     return None if wrong is None else Rejected(where, f"{wrong}.type", "is none", wrong)
        >>> row = Row({"question": None, "id": "7", "answer": None}, where)
        >>> [str(problem) for problem in further_problems(row, read(row), {"question": "q", "answer": "a"}, read)]
        ['a.jsonl:1 answer: is none']
    """
    fields = dict(row.fields)
    mended: set[str] = set()
    problem: Rejected | None = first
    while problem is not None:
        name = _column(problem.field, {**good, **fields})
        if name is None or name in mended:
            return
        if mended:
            if problem.code.startswith(_BETWEEN_FIELDS):
                return
            yield problem
        mended.add(name)
        fields.pop(name, None)
        if name in good:
            fields[name] = good[name]
        problem = read(Row(fields, row.where))


def _column(field: str, known: Mapping[str, Any]) -> str | None:
    """Give the column that a place such as `messages[0].role` lies in; None for the row as a whole."""
    if field in known:
        return field
    head = _HEAD.match(field)
    return head[0] if head and head[0] in known else None
