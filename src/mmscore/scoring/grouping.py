"""Rows that count together: rotations of a question (circular evaluation), questions about one image or pair.

A question is right when every rotation of its options is answered right; a group when all its rows are.
"""

import math
from collections.abc import Sequence

import numpy as np

from mmconvert.core.arrow import number_values
from mmconvert.core.errors import Error, show
from mmscore.core.estimates import Estimate, compute_mean
from mmscore.core.table import MISSING, REJECTED, Scored

ROTATION = 1_000_000
"""MMBench writes rotation k of question i as row i + k * this number."""

COLUMNS = ("sample", "variant", "group")
"""Columns beside `id` that tell which rows are rotations of one question."""


def score_circular(scored: Scored, score: str, indices: Sequence[str | None] | None = None) -> Scored:
    """Score questions on the rows that show them unrotated.

    Args:
        scored: All rows, with `COLUMNS`.
        score: 1.0 or 0.0 a row; NaN for a row without an answer.
        indices: The benchmark's index of each row, where the id is not it.

    Returns:
        The rows with `circular_accuracy` and `vanilla_accuracy` (the unrotated row alone) in place of
        all scores. A rotation whose unrotated row is not in the file takes no part; a question with
        an open rotation and no wrong one has no score.

    Raises:
        Error: Neither a variant nor the id tells which rotation a row shows that has been read.
    """
    hits = scored.scores[score]
    ids = scored.column("id") if indices is None else indices
    columns = (scored.column("status"), ids, *map(scored.column, COLUMNS))
    questions = [_name_question(*row) for row in zip(*columns, strict=True)]
    rotations: dict[str | None, list[float]] = {}
    for (question, _), hit in zip(questions, hits.tolist(), strict=True):
        rotations.setdefault(question, []).append(hit)
    right = {question: score_jointly(values) for question, values in rotations.items()}
    heads = np.array([is_head for _, is_head in questions], dtype=bool)
    circular = np.array([right[question] for question, _ in questions])
    return Scored(scored.rows, {}).with_scores(
        circular_accuracy=np.where(heads, circular, math.nan), vanilla_accuracy=np.where(heads, hits, math.nan)
    )


def _name_question(
    status: str, id: str | None, sample: str | None, variant: int | None, group: str | None
) -> tuple[str | None, bool]:
    """Name the question of a row, None where a row that was never read does not say it; and whether it is unrotated.

    Raises:
        Error: Neither a variant nor the id tells which rotation the row shows.
    """
    if variant is not None and sample is not None:
        return sample, variant == 0
    if id is None:
        return None, False
    copy, mark, number = id.rpartition("#")
    if mark and _is_number(number):
        return copy, int(number) == 0
    if not _is_number(id):
        if status in (MISSING, REJECTED):
            return None, False
        raise Error(
            f"id: expected a whole number, <sample>#<variant>, or a row with sample and variant {show(id)}. "
            "Give circular rows one of them."
        )
    if group is not None:
        return group, id == group
    return str(int(id) % ROTATION), int(id) < ROTATION


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def score_jointly(hits: Sequence[float]) -> float:
    """Score rows that count together: 1.0 when all are right.

    Args:
        hits: 1.0 or 0.0 a row, NaN for a row without an answer.

    Returns:
        0.0 when one row is wrong, else NaN when one has no answer, else 1.0.

    Example:
        >>> score_jointly([1.0, 1.0]), score_jointly([float("nan"), 0.0]), score_jointly([1.0, float("nan")])
        (1.0, 0.0, nan)
    """
    if 0.0 in hits:
        return 0.0
    return math.nan if any(map(math.isnan, hits)) else 1.0


def find_undecided(keys: Sequence[str | None], hits: Sequence[float]) -> frozenset[str]:
    """Find the groups of rows that `score_jointly` leaves open.

    Args:
        keys: Group of each row, None for none.
        hits: As for `score_jointly`.

    Returns:
        Groups with a row without an answer and no wrong one.
    """
    members: dict[str, list[float]] = {}
    for key, value in zip(keys, hits, strict=True):
        if key is not None:
            members.setdefault(key, []).append(value)
    return frozenset(key for key, values in members.items() if math.isnan(score_jointly(values)))


def compute_joint_accuracy(scored: Scored, column: str, score: str) -> Estimate:
    """Measure the share of groups whose rows are all right.

    Args:
        scored: Rows that have the score, of any part of the file.
        column: Column that names the group of a row; rows without one take no part.
        score: 1.0 or 0.0 a row.

    Returns:
        Fraction; `n` counts groups.
    """
    codes, values = number_values(scored.rows[column])
    worst = np.ones(len(values))
    np.minimum.at(worst, codes[codes >= 0], scored.scores[score][codes >= 0])
    return compute_mean(worst)
