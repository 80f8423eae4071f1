"""The chance that one of k replies to a question is right, estimated without bias from more than k."""

import math


def pass_at_k(replies: int, right: int, k: int) -> float:
    """Estimate the chance that at least one of k replies is right.

    Args:
        replies: Replies there are, at least k.
        right: How many of them are right, 0 to `replies`.
        k: Replies that are drawn without replacement, at least 1.

    Returns:
        Fraction 0-1: 1 minus the share of draws that hold no right reply.

    Raises:
        ValueError: The numbers do not go together.

    Reference: Chen et al., "Evaluating Large Language Models Trained on Code" (2021), section 2.1.

    Example:
        >>> pass_at_k(4, 2, 1), pass_at_k(4, 2, 2), pass_at_k(4, 0, 4)
        (0.5, 0.8333333333333334, 0.0)
    """
    if not (1 <= k <= replies and 0 <= right <= replies):
        raise ValueError(f"expected 1 <= k <= replies and 0 <= right <= replies, got {k=}, {replies=}, {right=}")
    return 1 - math.comb(replies - right, k) / math.comb(replies, k)


METRIC = pass_at_k
