"""What is read of a user's files once a run: a later run of the same process reads it again."""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

_F = TypeVar("_F", bound=Callable[..., Any])
_remembered: list[Any] = []


def cache_for_run(function: _F) -> _F:
    """Remember what a function gives for its arguments until the next run begins."""
    remembered = cache(function)
    _remembered.append(remembered)
    return cast(_F, remembered)


def begin_run() -> None:
    """Forget what earlier runs have read: in a notebook, files and the current folder change between them."""
    for one in _remembered:
        one.cache_clear()
