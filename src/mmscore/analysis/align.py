"""The same rows, scored twice: by two recipes, or of two models; found again by their id."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mmconvert.core.frozen import frozen
from mmscore.core.table import MISSING, SCORED, Scored


@frozen
class Pairing:
    """Two sets of settled rows side by side.

    Attributes:
        a: Rows that both sides scored, in the order of the first side.
        b: The same rows as the other side scored them, in the same order.
        only_a: Ids that the second side has no row for.
        only_b: Ids that the first side has no row for.
        unscored: Ids that both sides have and at least one of them gave no score.
    """

    a: Scored
    b: Scored
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    unscored: tuple[str, ...]

    def __len__(self) -> int:
        """Count the rows that both sides scored."""
        return len(self.a)


def pair(a: Scored, b: Scored) -> Pairing:
    """Find the rows that both sides scored.

    A row is found by its id; where a recipe lets an id stand several times, the first goes with the first.

    Args:
        a: Settled rows of one side.
        b: Settled rows of the other.
    """
    ids_a, ids_b = _asked(a), _asked(b)
    scored_a, scored_b = a.with_status(SCORED), b.with_status(SCORED)
    keys_a, keys_b = _keys(scored_a, scored_b)
    place = pc.index_in(keys_a, value_set=keys_b, skip_nulls=True)
    found = pc.is_valid(place).to_numpy(zero_copy_only=False)
    rows_a = scored_a.where(found)
    rows_b = scored_b.take(place.drop_null().to_numpy().astype(np.int64))
    both = ids_a.filter(pc.is_in(ids_a, value_set=ids_b))
    return Pairing(
        rows_a,
        rows_b,
        _without(ids_a, ids_b),
        _without(ids_b, ids_a),
        _without(both, rows_a.rows["id"].combine_chunks()),
    )


def _asked(scored: Scored) -> pa.Array:
    """Give the ids that there is a row for, once each."""
    kept = pc.and_(pc.is_valid(scored.rows["id"]), pc.not_equal(scored.rows["status"], MISSING))
    return pc.unique(scored.rows["id"].filter(kept))


def _without(ids: pa.Array, others: pa.Array) -> tuple[str, ...]:
    return tuple(ids.filter(pc.invert(pc.is_in(ids, value_set=others))).to_pylist())


def _keys(*sides: Scored) -> list[pa.Array]:
    """Name the rows of each side by their id, and by how often it stood above where one stands several times."""
    ids = [side.rows["id"].combine_chunks() for side in sides]
    if all(len(pc.unique(one)) == len(one) for one in ids):
        return ids
    return [pc.binary_join_element_wise(one, pa.array(_times_above(one)).cast(pa.string()), "\0") for one in ids]


def _times_above(ids: pa.Array) -> npt.NDArray[np.int64]:
    codes = ids.dictionary_encode().indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    first = np.searchsorted(codes[order], np.arange(len(codes)))
    times = np.empty(len(codes), np.int64)
    times[order] = np.arange(len(codes)) - first[codes[order]]
    return times


def listed(ids: Sequence[str], most: int = 5) -> str:
    """Name the first few ids.

    Example:
        >>> listed(["1", "2", "3"], most=2)
        '1, 2, ...'
    """
    return ", ".join(ids[:most]) + (", ..." if len(ids) > most else "")
