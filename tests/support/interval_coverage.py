"""How often the 95 % intervals of the product hold the truth, in rows drawn from a truth that is known."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import numpy.typing as npt

from mmscore.core.estimates import compute_macro, compute_mean
from mmscore.scoring.paired_tests import compare_paired

CLUSTERS = (8, 12, 20, 40)
SHARES = (0.2, 0.5, 0.8)
CORRELATIONS = (0.0, 0.2, 0.5)
CELLS = tuple(product(CLUSTERS, SHARES, CORRELATIONS))
GROUPS = tuple(product((2, 5, 20), ((1, 1), (5, 5), (1, 30)), (0.5, 0.9)))
SMALLEST, LARGEST = 3, 30
GAIN = 0.05
"""How much better the second of two models is."""

Draws = np.random.Generator


def _draw_clusters(draws: Draws, clusters: int) -> npt.NDArray[np.int64]:
    """Number the cluster of each row; a cluster has 3 to 30 rows, each size as likely."""
    return np.repeat(np.arange(clusters), draws.integers(SMALLEST, LARGEST + 1, clusters))


def _draw_hits(
    draws: Draws, codes: npt.NDArray[np.int64], share: float, correlation: float, *, lopsided: bool = False
) -> npt.NDArray[np.bool_]:
    """Draw right and wrong rows: each cluster has a share of its own, from the beta distribution.

    Lopsided clusters have one of two shares, far apart: each row takes its cluster's one outcome or draws its own.
    """
    count = int(codes[-1]) + 1
    if lopsided:
        follows = correlation**0.5
        own = follows * (draws.random(count) < share) + (1 - follows) * share
    elif correlation:
        spread = (1 - correlation) / correlation
        own = draws.beta(share * spread, (1 - share) * spread, count)
    else:
        own = np.full(count, share)
    hits: npt.NDArray[np.bool_] = draws.random(codes.size) < own[codes]
    return hits


def _count_share(interval: Iterator[tuple[float, float]], truth: float, count: int) -> float:
    """Give the percentage of intervals that hold the truth."""
    return 100 * sum(low - 1e-12 <= truth <= high + 1e-12 for low, high in interval) / count


def cover_share(
    clusters: int, share: float, correlation: float, count: int, seed: int = 0, *, lopsided: bool = False
) -> float:
    """Cover the share of right rows in clusters: `compute_mean`."""
    draws = np.random.default_rng(seed)

    def draw() -> Iterator[tuple[float, float]]:
        for _ in range(count):
            codes = _draw_clusters(draws, clusters)
            found = compute_mean(_draw_hits(draws, codes, share, correlation, lopsided=lopsided), codes).ci95
            assert found
            yield found

    return _count_share(draw(), share, count)


def cover_difference(
    clusters: int, share: float, correlation: float, count: int, seed: int = 0, resamples: int = 1000
) -> float:
    """Cover the difference of two models on the same clusters, the second better by 0.05: `compare_paired`."""
    draws = np.random.default_rng(seed)

    def draw() -> Iterator[tuple[float, float]]:
        for number in range(count):
            codes = _draw_clusters(draws, clusters)
            a, b = (_draw_hits(draws, codes, each, correlation) for each in (share, share + GAIN))
            found = compare_paired(a, b, codes, resamples=resamples, seed=number).ci95
            assert found
            yield found

    return _count_share(draw(), GAIN, count)


def cover_macro(groups: int, rows: tuple[int, int], share: float, count: int, seed: int = 0) -> float:
    """Cover the mean of groups whose shares lie up to 0.1 to either side of one: `compute_macro`."""
    draws = np.random.default_rng(seed)
    shares = np.linspace(share - 0.1, share + 0.1, groups)

    def draw() -> Iterator[tuple[float, float]]:
        for _ in range(count):
            sizes = draws.integers(rows[0], rows[1] + 1, groups)
            found = compute_macro(compute_mean(draws.random(n) < p) for n, p in zip(sizes, shares, strict=True)).ci95
            assert found
            yield found

    return _count_share(draw(), share, count)
