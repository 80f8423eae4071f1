"""How values show themselves in a notebook: a room above says it, since images need more than the core has."""

from collections.abc import Callable
from typing import Any

DISPLAYS: dict[type, Callable[[Any], str]] = {}
"""Type -> its value as HTML; `mmconvert.api` fills it."""


def show_html(value: Any) -> str | None:
    """Give a value as HTML; None where nothing is known, so that a notebook shows its `repr`."""
    display = DISPLAYS.get(type(value))
    return None if display is None else display(value)
