"""Predictions in, the number each original kit would give out."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmscore.api import JudgeRequest, Outcome, Report, Summary, judge, predict, push, run, score

__all__ = ["JudgeRequest", "Outcome", "Report", "Summary", "judge", "predict", "push", "run", "score"]


def __getattr__(name: str) -> Any:
    """Load the public names when they are first used: most commands need few of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("mmscore.api"), name)


def __dir__() -> list[str]:
    return [*__all__]
