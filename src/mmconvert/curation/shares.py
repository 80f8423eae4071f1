"""How many rows a mixture takes of each source: by weights, a temperature, and what happens when one runs out."""

import math
from collections.abc import Sequence
from typing import Literal

from mmconvert.core.errors import UsageError

Exhausted = Literal["stop", "repeat", "once"]
_TINY = 1e-9
"""What sums and quotients of weights may be off by."""


def compute_shares(rows: Sequence[int], weights: Sequence[float | None], temperature: float = 1.0) -> list[float]:
    """Compute the share of each source, together 1.

    Sources without a weight share what the others leave of 1, in proportion to rows ** (1 / temperature). Where all
    have weights, these are divided by their sum.

    Args:
        rows: Rows of each source, from 1.
        weights: Weight of each, above 0; None where none is given.
        temperature: 1 goes by size, a large one makes sources equal.

    Raises:
        UsageError: The weights leave nothing for sources without one.

    Example:
        >>> compute_shares([900, 100], [None, None])
        [0.9, 0.1]
        >>> compute_shares([900, 100], [None, None], temperature=2)
        [0.75, 0.25]
        >>> compute_shares([5, 5, 5], [0.5, 0.3, None])
        [0.5, 0.3, 0.2]
    """
    given = sum(weight for weight in weights if weight is not None)
    if None not in weights:
        return [(weight or 0) / given for weight in weights]
    rest = 1 - given
    if rest <= _TINY:
        raise UsageError(f"the weights add up to {given:g} and leave nothing for sources without one. Give each one.")
    largest = max(rows)
    sizes = [
        math.exp(math.log(count / largest) / temperature) if weight is None else 0.0
        for count, weight in zip(rows, weights, strict=True)
    ]
    total = sum(sizes)
    shares = [rest * size / total if weight is None else weight for size, weight in zip(sizes, weights, strict=True)]
    return [round(share, 15) for share in shares]


def count_taken(rows: Sequence[int], shares: Sequence[float], samples: int | None, exhausted: Exhausted) -> list[int]:
    """Count the rows to take of each source.

    Args:
        rows: Rows of each source.
        shares: Share of each, together 1.
        samples: Rows of the mixture; None for as many as `exhausted` allows.
        exhausted: `stop` ends with the first source that runs out (`first_exhausted`), `repeat` begins it again until
            the last one has run out (`all_exhausted`), `once` goes on with the others, each row at most once
            (`all_exhausted_without_replacement`).

    Example:
        >>> count_taken([2, 5], [0.5, 0.5], None, "stop"), count_taken([2, 5], [0.5, 0.5], None, "repeat")
        ([2, 2], [5, 5])
        >>> count_taken([2, 5], [0.5, 0.5], None, "once"), count_taken([2, 5], [0.5, 0.5], 6, "once")
        ([2, 5], [2, 4])
    """
    lengths = [count / share for count, share in zip(rows, shares, strict=True)]
    if exhausted == "repeat":
        return _apportion(math.ceil(max(lengths) - _TINY) if samples is None else samples, shares)
    if exhausted == "stop":
        most = math.floor(min(lengths) + _TINY)
        taken = _apportion(most if samples is None else min(most, samples), shares)
        return [min(pair) for pair in zip(taken, rows, strict=True)]
    left = sum(rows) if samples is None else min(samples, sum(rows))
    taken = [0] * len(rows)
    while left:
        # Sources that run out leave their part to those that have rows.
        free = [share if done < count else 0.0 for share, done, count in zip(shares, taken, rows, strict=True)]
        more = _apportion(left, [share / sum(free) for share in free])
        taken = [min(done + one, count) for done, one, count in zip(taken, more, rows, strict=True)]
        left = (sum(rows) if samples is None else min(samples, sum(rows))) - sum(taken)
    return taken


def _apportion(total: int, shares: Sequence[float]) -> list[int]:
    """Divide a number by shares: whole parts first, the rest to the largest fractions."""
    exact = [total * share for share in shares]
    counts = [math.floor(one + _TINY) for one in exact]
    order = sorted(range(len(shares)), key=lambda number: counts[number] - exact[number])
    for number in order[: total - sum(counts)]:
        counts[number] += 1
    return counts
