"""Edit distances of texts, and the longest common subsequence of lists of words, which ROUGE-L counts."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from mmconvert.core.extras import require_extra


def compute_edit_distance(first: str, second: str) -> int:
    """Count the characters to insert, delete or replace to make one text of another.

    Example:
        >>> compute_edit_distance("kitten", "sitting")
        3
    """
    distance: int = _load_rapidfuzz().Levenshtein.distance(first, second)
    return distance


def compute_lcs_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Measure the longest common subsequence of two lists of words.

    Example:
        >>> compute_lcs_length(["a", "x", "b"], ["a", "b", "y"])
        2
    """
    (length,) = compute_lcs_lengths(first, [second])
    return length


def compute_lcs_lengths(first: Sequence[str], others: Sequence[Sequence[str]]) -> list[int]:
    """Measure the longest common subsequences of one list of words with several.

    Example:
        >>> compute_lcs_lengths(["a", "x", "b"], [["a", "b", "y"], []])
        [2, 0]
    """
    measure = _load_rapidfuzz().LCSseq.similarity
    numbers: dict[str, int] = {}
    coded = [[numbers.setdefault(word, len(numbers)) for word in words] for words in (first, *others)]
    return [int(measure(coded[0], other)) for other in coded[1:]]


@cache
def _load_rapidfuzz() -> Any:
    with require_extra("score", "an edit distance"):
        from rapidfuzz import distance
    return distance
