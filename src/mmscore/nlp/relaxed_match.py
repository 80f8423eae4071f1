"""Short answers held against a reference: within 5 % as numbers, or by edit distance.

VLMEvalKit and lmms-eval share both rules.
"""

from mmscore.nlp.edit_distance import compute_edit_distance

MARGIN = 0.05
"""Relative error that `is_relaxed_match` accepts."""

LEAST_SIMILARITY = 0.5
"""A similarity below this counts as 0."""


def is_relaxed_match(target: str, prediction: str, margin: float = MARGIN) -> bool:
    """Tell whether a prediction is a number near the target, or the same text but for case.

    A trailing `%` divides by 100; whatever Python's float reads is a number (`1_000`, `inf`), and
    `1,000` is a text. A target of zero is compared as text.

    Args:
        target: The reference.
        prediction: The model's response; nothing is stripped.
        margin: Largest accepted relative error.

    Returns:
        Whether they agree.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/vqa_eval.py:relaxed_correctness;
    EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/chartqa/utils.py:relaxed_correctness.

    Example:
        >>> is_relaxed_match("50%", "0.51"), is_relaxed_match("0.0", "0"), is_relaxed_match("yes", "Yes")
        (True, False, True)
    """
    given, wanted = _read_number(prediction), _read_number(target)
    if given is not None and wanted:
        return abs(given - wanted) / abs(wanted) <= margin
    return prediction.lower() == target.lower()


def _read_number(text: str) -> float | None:
    try:
        return float(text.rstrip("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return None


def compute_anls_distance(reference: str, prediction: str) -> float:
    """Measure the edit distance of two texts, blanks collapsed and case ignored, as a share.

    Args:
        reference: The reference.
        prediction: The model's response.

    Returns:
        Distance divided by the longer length, 0 for identical texts. The lengths are those of
        the texts in capitals with their blanks, so that padding lowers the distance.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/vqa_eval.py:anls_compute;
    EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/api/metrics.py:anls.

    Example:
        >>> compute_anls_distance("Contoso Ltd", "contoso  ltd"), compute_anls_distance("abc", "abd")
        (0.0, 0.3333333333333333)
    """
    longest = max(len(reference.upper()), len(prediction.upper()))
    if not longest:
        return 0.0
    wanted, given = (" ".join(text.lower().split()) for text in (reference, prediction))
    return compute_edit_distance(wanted, given) / longest


def compute_similarity(distance: float) -> float:
    """Turn the least distance of an answer from its references into its score (ANLS).

    Args:
        distance: From `compute_anls_distance`, 0-1.

    Returns:
        1 minus the distance, and 0 below one half.

    Example:
        >>> compute_similarity(0.25), compute_similarity(0.6)
        (0.75, 0.0)
    """
    value = 1 - distance
    return float(value) if value >= LEAST_SIMILARITY else 0.0
