"""The longest common subsequence of lists of words, which ROUGE-L counts."""

from collections.abc import Sequence

from rapidfuzz.distance import LCSseq


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
    numbers: dict[str, int] = {}
    coded = [[numbers.setdefault(word, len(numbers)) for word in words] for words in (first, *others)]
    return [int(LCSseq.similarity(coded[0], other)) for other in coded[1:]]
