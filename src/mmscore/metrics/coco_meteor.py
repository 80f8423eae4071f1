"""METEOR of captions as pycocoevalcap computes it: aligned by a Java program, of all rows together."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mmscore.nlp.meteor import NUMBERS, align_caption

Floats = npt.NDArray[np.float64]

# Source: METEOR 1.5 (Denkowski and Lavie 2014), tuned for ranking English.
RECALL = 0.85
FRAGMENTS_POWER = 0.2
FRAGMENTS = 0.6
CONTENT = 0.75
MODULES = np.array([1.0, 0.6, 0.8, 0.6])
"""What a match is worth: the same word, the same stem, a synonym, a paraphrase."""

CHUNKS = 20


def coco_meteor(predictions: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Compute METEOR of a set of captions.

    Args:
        predictions: One a row.
        references: One or more a row.

    Returns:
        Fraction 0-1.

    Raises:
        Error: Java or its program is not there, see `mmscore.nlp.meteor.missing`.

    Parity: salaniz/pycocoevalcap 1.2 meteor/meteor.py:Meteor.compute_score.
    """
    return compute_meteor(count_meteor(predictions, references))


def count_meteor(predictions: Sequence[str], references: Sequence[Sequence[str]]) -> Floats:
    """Count what METEOR needs of each row.

    Returns:
        One line a row: words of the prediction, of the reference, function words of either; for each
        of `MODULES` matched content words of prediction and reference, then function words; chunks;
        matched words of either. A row that is its reference word for word has no chunk.

    Raises:
        Error: As `coco_meteor`.
    """
    counts = np.array([align_caption(*row) for row in zip(predictions, references, strict=True)]).reshape(-1, NUMBERS)
    whole = (counts[:, -2] == counts[:, 0]) & (counts[:, -1] == counts[:, 1]) & (counts[:, CHUNKS] == 1)
    counts[whole, CHUNKS] = 0
    return counts


def compute_meteor(counts: Floats) -> float:
    """Compute METEOR of any rows.

    Args:
        counts: Their lines of `count_meteor`.

    Returns:
        As `coco_meteor`; 0.0 of no rows.

    Example:
        >>> words = [5, 6, 3, 3, 2, 2, 3, 3, *[0] * 12, 2, 5, 5]
        >>> round(compute_meteor(np.array([words])), 6)
        0.389975
    """
    said, wanted, said_function, wanted_function, *rest = counts.sum(axis=0).tolist()
    matched = np.array(rest[:16]).reshape(len(MODULES), 4)
    chunks, said_matched, wanted_matched = rest[16:]
    precision = _compute_share(matched[:, 0], matched[:, 2], said, said_function)
    recall = _compute_share(matched[:, 1], matched[:, 3], wanted, wanted_function)
    if not precision or not recall:
        return 0.0
    mean = 1 / ((1 - RECALL) / precision + RECALL / recall)
    scattered = chunks / ((said_matched + wanted_matched) / 2)
    return float(mean * (1 - FRAGMENTS * scattered**FRAGMENTS_POWER))


def _compute_share(content: Floats, function: Floats, words: float, function_words: float) -> float:
    weight = CONTENT * (words - function_words) + (1 - CONTENT) * function_words
    return float(MODULES @ (CONTENT * content + (1 - CONTENT) * function)) / weight if weight else 0.0


METRIC = coco_meteor
