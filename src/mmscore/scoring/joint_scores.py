"""Scores of several rows together: a picture, a figure or a pair counts when all its questions are right."""

import math
from collections.abc import Sequence

import numpy as np

from mmscore.core.estimates import Estimate, mean
from mmscore.core.table import Scored


def jointly(hits: Sequence[float]) -> float:
    """Score rows that count together: 1.0 when all are right.

    Args:
        hits: 1.0 or 0.0 a row, NaN for a row without an answer.

    Returns:
        0.0 when one row is wrong, else NaN when one has no answer, else 1.0.

    Example:
        >>> jointly([1.0, 1.0]), jointly([float("nan"), 0.0]), jointly([1.0, float("nan")])
        (1.0, 0.0, nan)
    """
    if 0.0 in hits:
        return 0.0
    return math.nan if any(map(math.isnan, hits)) else 1.0


def undecided(keys: Sequence[str | None], hits: Sequence[float]) -> frozenset[str]:
    """Find the groups of rows that `jointly` leaves open.

    Args:
        keys: Group of each row, None for none.
        hits: As for `jointly`.

    Returns:
        Groups with a row without an answer and no wrong one.
    """
    members: dict[str, list[float]] = {}
    for key, value in zip(keys, hits, strict=True):
        if key is not None:
            members.setdefault(key, []).append(value)
    return frozenset(key for key, values in members.items() if math.isnan(jointly(values)))


def joint_accuracy(scored: Scored, column: str, score: str) -> Estimate:
    """Measure the share of groups whose rows are all right.

    Args:
        scored: Rows that have the score, of any part of the file.
        column: Column that names the group of a row; rows without one take no part.
        score: 1.0 or 0.0 a row.

    Returns:
        Fraction; `n` counts groups.
    """
    encoded = scored.rows[column].combine_chunks().dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    worst = np.ones(len(encoded.dictionary))
    np.minimum.at(worst, codes[codes >= 0], scored.scores[score][codes >= 0])
    return mean(worst)
