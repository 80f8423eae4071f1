"""MME's points: a category has 100 times its accuracy, and again its share of images with both questions right.

Three frameworks count so and differ in which rows belong together and which categories are added up.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence

from mmscore.core.distributions import Z95
from mmscore.core.estimates import Estimate
from mmscore.core.recipe import Metrics, Row
from mmscore.core.table import Scored
from mmscore.scoring.grouping import score_jointly

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/yorn.py, MME_rating; EvolvingLMMs-Lab/lmms-eval@75571cf
# lmms_eval/tasks/mme/utils.py and BradyFU/Awesome-Multimodal-Large-Language-Models calculation.py have the same.
PERCEPTION = ("OCR", "artwork", "celebrity", "color", "count", "existence", "landmark", "position", "posters", "scene")
COGNITION = ("code_reasoning", "commonsense_reasoning", "numerical_calculation", "text_translation")

ACCURACY = "accuracy"
PLUS = "accuracy_plus"
POINTS = "points"
PAIR = 2
"""Questions about one image."""

_FIRST = (PERCEPTION[0], COGNITION[0])


def score_pairs(scored: Scored, keys: Sequence[Hashable]) -> Scored:
    """Score each image on its first row, from the first two of its rows.

    Args:
        scored: All rows, with `ACCURACY`.
        keys: What tells a row's image from the others, None for a row that belongs to none.

    Returns:
        The rows with `PLUS` (1 when both are right) and `POINTS` (0-200: what the image adds to
        the mean that its category has); neither where an image has one question, or an
        open one that decides.
    """
    hits = scored.scores[ACCURACY].tolist()
    members: dict[Hashable, list[int]] = {}
    for number, key in enumerate(keys):
        if key is not None:
            members.setdefault(key, []).append(number)
    plus, points = [math.nan] * len(scored), [math.nan] * len(scored)
    for rows in members.values():
        if len(rows) >= PAIR:
            both = score_jointly([hits[number] for number in rows[:PAIR]])
            plus[rows[0]] = both
            points[rows[0]] = 100 * (math.fsum(hits[number] for number in rows) / len(rows) + both)
    return scored.with_scores(**{PLUS: plus, POINTS: points})


def count_category_points(scored: Scored) -> Estimate:
    """Count the points of the rows of one category; `n` counts images, the error is that between them."""
    plus, spread = scored.mean(PLUS), scored.mean(POINTS)
    value = scored.mean(ACCURACY).value * 100 + plus.value * 100
    return _build_points(value, plus.n, spread.stderr)


def build_points_line(parts: Mapping[str, Scored], total_of: Callable[[str], str | None]) -> Row:
    """Lay out totals and categories in one line, as two of the frameworks do.

    Args:
        parts: Category -> its rows.
        total_of: Category -> the total that it counts for, None for none.
    """
    points = {name: count_category_points(part).value for name, part in parts.items()}
    totals = [str(total_of(name)) for name in _FIRST]
    return {total: sum(value for name, value in points.items() if total_of(name) == total) for total in totals} | points


def add_estimates(estimates: Sequence[Estimate]) -> Estimate:
    """Add the points of categories, whose errors are independent.

    Args:
        estimates: One a category, at least one.

    Returns:
        Their sum; `n` counts images. No error where a category has none.

    Example:
        >>> add_estimates([Estimate(150.0, 10, unit="points"), Estimate(120.0, 20, unit="points")]).value
        270.0
    """
    errors = [e.stderr for e in estimates if e.stderr is not None]
    error = math.hypot(*errors) if len(errors) == len(estimates) else None
    return _build_points(math.fsum(e.value for e in estimates), sum(e.n for e in estimates), error)


def _build_points(value: float, images: int, error: float | None) -> Estimate:
    interval = None if error is None else (value - Z95 * error, value + Z95 * error)
    return Estimate(value, images, error, interval, "points")


def compute_mme_metrics(scored: Scored, total_of: Callable[[str], str | None]) -> Metrics:
    """Add up the points of any settled rows, whole or one category.

    Args:
        scored: Settled rows with the column `category`.
        total_of: Category -> the total that it counts for, None for none.

    Returns:
        Each total that has a category (points), then `accuracy` and `accuracy_plus` (fractions).
    """
    totals: dict[str | None, list[Estimate]] = {total_of(name): [] for name in _FIRST}
    for category, part in scored.split("category"):
        totals.setdefault(total_of(category), []).append(count_category_points(part))
    sums = {name: add_estimates(parts) for name, parts in totals.items() if name is not None and parts}
    return {**sums, ACCURACY: scored.mean(ACCURACY), PLUS: scored.mean(PLUS)}
