"""A value inside a field, by its place as errors name it: `messages[2].content[1].image_url`."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mmconvert.core.errors import RowError
from mmconvert.core.record import encode_json
from mmconvert.core.text.json import parse_json
from mmconvert.core.text.literals import parse_list

Way = Sequence[str | int]
"""Names of members and places in lists, from the field inwards."""

_HEAD = re.compile(r"[^.\[]+")
_STEP = re.compile(r"\.([^.\[\]]+)|\[([0-9]+)\]")


def parse_field_path(place: str, columns: Mapping[str, Any]) -> tuple[str, Way] | None:
    """Tell the column that a place lies in, and the way from there; None for the row as a whole.

    Args:
        place: As a refusal names it; a column may be spelled with other case, `-` or `_`.
        columns: Those of the row.

    Example:
        >>> parse_field_path("messages[2].content", {"messages": []})
        ('messages', [2, 'content'])
        >>> parse_field_path("l2-category", {"L2_category": None}), parse_field_path("", {"id": 1})
        (('L2_category', []), None)
    """
    head = _HEAD.match(place)
    for name in (place, head[0] if head else ""):
        column = next((column for column in columns if _normalize_name(column) == _normalize_name(name)), None)
        if name and column is not None:
            return column, [int(at) if at else member for member, at in _STEP.findall(place[len(name) :])]
    return None


def _normalize_name(name: str) -> str:
    return name.strip().lower().replace("-", "_")


def find_value(value: Any, way: Way) -> Any:
    """Give the value that stands at a place, the last element where a list is too short.

    Raises:
        LookupError: Nothing stands there.

    Example:
        >>> find_value([{"role": "user"}], [3, "role"])
        'user'
    """
    for step in way:
        value = _parse_cell(value)
        if isinstance(value, list) and isinstance(step, int) and value:
            value = value[min(step, len(value) - 1)]
        elif isinstance(value, dict) and step in value:
            value = value[step]
        else:
            raise LookupError(step)
    return value


def replace_value(value: Any, way: Way, new: Any) -> Any:
    """Put a value in the place of another; what it stands in is copied, a text that holds a list stays a text.

    Raises:
        LookupError: There is no such place.

    Example:
        >>> replace_value([{"role": "usr"}], [0, "role"], "user"), replace_value("['a', 'b']", [1], "c")
        ([{'role': 'user'}], '["a","c"]')
    """
    if not way:
        return new
    if isinstance(value, str):
        return encode_json(replace_value(_parse_cell(value), way, new))
    step, inner = way[0], way[1:]
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return [*value[:step], replace_value(value[step], inner, new), *value[step + 1 :]]
    if isinstance(value, dict) and isinstance(step, str) and (step in value or not inner):
        return {**value, step: replace_value(value.get(step), inner, new)}
    raise LookupError(step)


def _parse_cell(value: Any) -> Any:
    """Read a cell that holds a list or an object as text."""
    if not isinstance(value, str):
        return value
    for reader in (parse_json, parse_list):
        try:
            found = reader(value)
        except RowError:
            continue
        if isinstance(found, list | dict):
            return found
    raise LookupError(value[:80])
