"""Groups of what hangs together by pairs (union-find), on arrays."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


def join_pairs(count: int, pairs: Iterable[tuple[Numbers, Numbers]]) -> Numbers:
    """Join things by pairs, directly or over others.

    Args:
        count: How many things there are, numbered from 0.
        pairs: Arrays of both sides of some pairs at a time.

    Returns:
        For each thing the smallest one of its group.

    Example:
        >>> join_pairs(5, [(np.array([4, 1]), np.array([1, 3]))]).tolist()
        [0, 1, 2, 1, 1]
    """
    roots = np.arange(count)
    for one, other in pairs:
        while True:
            one, other = roots[one], roots[other]
            apart = one != other
            if not apart.any():
                break
            one, other = one[apart], other[apart]
            np.minimum.at(roots, np.maximum(one, other), np.minimum(one, other))
            while not np.array_equal(above := roots[roots], roots):
                roots = above
    return roots
