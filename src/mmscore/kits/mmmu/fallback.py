"""Choices that nobody can read, where a framework draws a letter that cannot be drawn again."""

from collections.abc import Sequence

from msgspec.structs import replace

from mmscore.core.recipe import Metrics, average_scores
from mmscore.core.table import Scored


def score_without_draw(letter: str | None, gold: str | Sequence[str], letters: Sequence[str]) -> dict[str, float]:
    """Score a choice without drawing.

    Args:
        letter: The letter that was read, None where the framework draws one.
        gold: The reference, or several.
        letters: The letters to draw from.

    Returns:
        `accuracy_without_fallback`: an unread choice is wrong. `accuracy_expected`: it has the
        chance of the draw. `fallback_share`: 1.0 for an unread choice.

    Example:
        >>> score_without_draw(None, "B", "ABCD")["accuracy_expected"]
        0.25
    """
    right = float(letter is not None and (letter == gold if isinstance(gold, str) else letter in gold))
    drawn = letter is None and bool(letters)
    lucky = sum(one == gold if isinstance(gold, str) else one in gold for one in letters)
    return {
        "accuracy_without_fallback": right,
        "accuracy_expected": lucky / len(letters) if drawn else right,
        "fallback_share": float(drawn),
    }


def average_undrawn_scores(scored: Scored, version: str) -> Metrics:
    """Average the scores of `score_without_draw`; fewer unread choices are better."""
    metrics = average_scores()(scored, version)
    return {**metrics, "fallback_share": replace(metrics["fallback_share"], higher_is_better=False)}
