"""ROUGE-L of a caption as pycocoevalcap computes it: the best precision and the best recall, wherever they are."""

from collections.abc import Sequence

from mmscore.nlp.edit_distance import compute_lcs_lengths

BETA = 1.2
"""How much more recall weighs than precision."""


def coco_rouge_l(prediction: str, references: Sequence[str]) -> float:
    """Score one caption.

    Args:
        prediction: The caption; words are cut at single blanks, so that two blanks hold an empty word.
        references: One or more; precision and recall may be best for different ones.

    Returns:
        F-measure, 0-1.

    Parity: salaniz/pycocoevalcap 1.2 rouge/rouge.py:Rouge.calc_score.

    Example:
        >>> coco_rouge_l("a red cat", ["a red dog", "the cat"])
        0.6666666666666666
    """
    said, wanted = prediction.split(" "), [reference.split(" ") for reference in references]
    lengths = compute_lcs_lengths(said, wanted)
    precision = max(lengths) / len(said)
    recall = max(length / len(words) for length, words in zip(lengths, wanted, strict=True))
    if not (precision and recall):
        return 0.0
    return (1 + BETA**2) * precision * recall / (recall + BETA**2 * precision)


METRIC = coco_rouge_l
