"""Predictions in, the number each original kit would give out."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmscore.api import (
        Bundle,
        Comparison,
        Explanation,
        JudgeRequest,
        ListedPlugin,
        Outcome,
        Ranking,
        Report,
        Submission,
        Summary,
        Verification,
        bundle,
        compare,
        explain,
        judge,
        list_plugins,
        predict,
        push,
        rank,
        run,
        score,
        submit,
        verify,
    )

__all__ = [
    "Bundle",
    "Comparison",
    "Explanation",
    "JudgeRequest",
    "ListedPlugin",
    "Outcome",
    "Ranking",
    "Report",
    "Submission",
    "Summary",
    "Verification",
    "bundle",
    "compare",
    "explain",
    "judge",
    "list_plugins",
    "predict",
    "push",
    "rank",
    "run",
    "score",
    "submit",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Load the public names when they are first used: most commands need few of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("mmscore.api"), name)


def __dir__() -> list[str]:
    return [*__all__]
