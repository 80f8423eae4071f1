"""Task files of kits that `mmscore run` takes: a door that knows its kit's tasks has `is_task`, `adopted`, `shown`."""

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmscore.api import Outcome

DOORS = ("mmscore.compat.evalscope", "mmscore.compat.mmtrusteval")


def ours(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give a task in the shape of docs/run.md; one that has it already as it is.

    Args:
        given: What a task file holds.

    Raises:
        UsageError: A kit's task asks for something that has no counterpart here.

    Example:
        >>> ours({"models": ["answer"], "datasets": []})
        {'models': ['answer'], 'datasets': []}
    """
    door = _door(given)
    adopted: Mapping[str, Any] = given if door is None else door.adopted(given)
    return adopted


def shown(given: Mapping[str, Any], outcomes: Sequence["Outcome"]) -> str:
    """Draw what the task's kit prints at the end; "" for a task of ours."""
    door = _door(given)
    return "" if door is None else str(door.shown(given, outcomes))


def _door(given: Mapping[str, Any]) -> Any:
    # Most tasks are of no kit, and a door takes time to load: one is asked after the other.
    return next((door for name in DOORS if (door := importlib.import_module(name)).is_task(given)), None)
