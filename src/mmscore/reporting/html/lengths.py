"""Response length against score: the samples of a result, in groups of about as many responses of like length."""

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mmconvert.core.arrow import build_scalar, to_numpy
from mmscore.core.estimates import compute_mean
from mmscore.core.table import SCORED, Floats
from mmscore.reporting.html.verdicts import Verdicts
from mmscore.scoring.scored_file import Result

MAX_BINS = 8
MIN_PER_BIN = 5
"""Samples of a bin at the least: a mean of fewer says nothing."""


class LengthBin(msgspec.Struct, frozen=True):
    """Responses of like length.

    Attributes:
        low: Characters of the shortest one.
        high: Characters of the longest one.
        median: The length in the middle.
        n: How many there are.
        mean: Their mean score.
        ci95: Its interval, None where there is none.
    """

    low: int
    high: int
    median: float
    n: int
    mean: float
    ci95: tuple[float, float] | None


def bin_lengths(result: Result, verdicts: Verdicts) -> list[LengthBin]:
    """Put the scored samples of a result in bins of like response length, shortest first.

    Args:
        result: One file under one recipe.
        verdicts: The score of each sample.

    Returns:
        The bins; none where all responses are about as long, or there are too few of them.
    """
    scored = result.scored
    if "prediction" not in result.rows.names or len(scored) == 0:
        return []
    lengths = _measure_responses(result)
    is_scored = to_numpy(pc.equal(scored.rows["status"], build_scalar(SCORED)))
    kept = is_scored & ~np.isnan(lengths) & ~np.isnan(verdicts.values)
    return _cut(lengths[kept], verdicts.values[kept])


def _measure_responses(result: Result) -> Floats:
    """Count the characters of the response to each sample, NaN where there is none; only lengths are kept."""
    ids, counts = [], []
    for batch in result.rows.read(["id", "prediction"]):
        ids.append(batch.column("id"))
        counts.append(pc.utf8_length(batch.column("prediction")).cast(pa.float64()))
    place = pc.index_in(result.scored.rows["id"], value_set=pa.chunked_array(ids).combine_chunks(), skip_nulls=True)
    found = pa.chunked_array(counts).combine_chunks().take(place.combine_chunks())
    return to_numpy(pc.fill_null(found, build_scalar(float("nan"))))


def _cut(lengths: Floats, values: Floats) -> list[LengthBin]:
    """Cut at quantiles; responses of one length are never parted."""
    most = min(MAX_BINS, len(lengths) // MIN_PER_BIN)
    if most < 2:
        return []
    edges = np.unique(np.quantile(lengths, np.linspace(0, 1, most + 1)[1:-1], method="lower"))
    numbers = np.searchsorted(edges, lengths, side="left")
    bins = [(lengths[numbers == n], values[numbers == n]) for n in np.unique(numbers)]
    return [_build_bin(*one) for one in bins] if len(bins) > 1 else []


def _build_bin(lengths: Floats, values: Floats) -> LengthBin:
    estimate = compute_mean(values)
    shortest, longest = int(lengths.min()), int(lengths.max())
    return LengthBin(
        low=shortest,
        high=longest,
        median=float(np.median(lengths)),
        n=len(values),
        mean=float(estimate.value),
        ci95=estimate.ci95,
    )
