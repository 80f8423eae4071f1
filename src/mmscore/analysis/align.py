"""Align rows that were scored twice, by two recipes or of two models: by their id, and where it is one question."""

import json
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mmconvert.core.arrow import build_scalar, from_numpy, number_values, to_numpy
from mmscore.core.predictions.load import Rows
from mmscore.core.table import MISSING, SCORED, Scored

_REFERENCES = ("answer", "answers", "label")
_FACTS_BY = frozenset((*_REFERENCES, "options"))


class Pairing(msgspec.Struct, frozen=True):
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


def pair_rows(a: Scored, b: Scored) -> Pairing:
    """Find the rows that both sides scored.

    A row is found by its id; where a recipe lets an id stand several times, the first goes with the first.

    Args:
        a: Settled rows of one side.
        b: Settled rows of the other.
    """
    ids_a, ids_b = _list_ids(a), _list_ids(b)
    scored_a, scored_b = a.with_status(SCORED), b.with_status(SCORED)
    keys_a, keys_b = _build_keys(scored_a, scored_b)
    place = pc.index_in(keys_a, value_set=keys_b, skip_nulls=True)
    found = to_numpy(pc.is_valid(place))
    rows_a = scored_a.where(found)
    rows_b = scored_b.take(to_numpy(place.drop_null()).astype(np.int64))
    both = ids_a.filter(pc.is_in(ids_a, value_set=ids_b))
    return Pairing(
        rows_a,
        rows_b,
        _list_missing(ids_a, ids_b),
        _list_missing(ids_b, ids_a),
        _list_missing(both, rows_a.rows["id"].combine_chunks()),
    )


def _list_ids(scored: Scored) -> pa.Array:
    """Give the ids that there is a row for, once each."""
    kept = pc.and_(pc.is_valid(scored.rows["id"]), pc.not_equal(scored.rows["status"], build_scalar(MISSING)))
    return pc.unique(scored.rows["id"].filter(kept))


def _list_missing(ids: pa.Array, others: pa.Array) -> tuple[str, ...]:
    return tuple(ids.filter(pc.invert(pc.is_in(ids, value_set=others))).to_pylist())


def _build_keys(*sides: Scored) -> list[pa.Array]:
    """Name the rows of each side by their id, and by how often it stood above where one stands several times."""
    ids = [side.rows["id"].combine_chunks() for side in sides]
    if all(len(pc.unique(one)) == len(one) for one in ids):
        return ids
    return [
        pc.binary_join_element_wise(one, from_numpy(_count_earlier(one)).cast(pa.string()), build_scalar("\0"))
        for one in ids
    ]


def _count_earlier(ids: pa.Array) -> npt.NDArray[np.int64]:
    codes, _ = number_values(ids)
    order = np.argsort(codes, kind="stable")
    first = np.searchsorted(codes[order], np.arange(len(codes)))
    times = np.empty(len(codes), np.int64)
    times[order] = np.arange(len(codes)) - first[codes[order]]
    return times


def format_ids(ids: Sequence[str], most: int = 5) -> str:
    """Name the first few ids.

    Example:
        >>> format_ids(["1", "2", "3"], most=2)
        '1, 2, ...'
    """
    return ", ".join(ids[:most]) + (", ..." if len(ids) > most else "")


def find_unlike_questions(a: Rows, b: Rows, ids: pa.Array) -> tuple[str, ...]:
    """Find ids under which two files have different questions.

    Rows differ where both say what their options are and these are not the same texts, in whatever order; or
    where both have references and no reference of one is one of the other. A letter stands for its option too;
    case and white space do not count. What a file does not say is no difference, nor is the prompt template of a
    question,
    which each framework writes in its own way.

    Args:
        a: One file.
        b: The other.
        ids: Ids that both have.

    Raises:
        Error: A file is damaged.
    """
    if not (a.names & _FACTS_BY and b.names & _FACTS_BY):
        return ()
    sides = zip(ids.to_pylist(), _read_rows(a, ids), _read_rows(b, ids), strict=True)
    return tuple(id for id, one, other in sides if one != other and not _are_alike(one, other))


def _read_rows(rows: Rows, ids: pa.Array) -> Iterator[Mapping[str, Any]]:
    """Give what tells a question, id by id; only as many rows as a batch has are Python values at a time."""
    names = sorted(rows.names & _FACTS_BY)
    table = pa.Table.from_batches(rows.read(["id", *names]))
    places = pc.index_in(ids, value_set=table["id"].combine_chunks())
    for batch in table.select(names).take(places).to_batches(max_chunksize=10_000):
        yield from batch.to_pylist()


def _are_alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    options, others = (frozenset(map(_normalize, row.get("options") or ())) - {""} for row in (one, other))
    if options and others and options != others:
        return False
    references, theirs = _read_references(one), _read_references(other)
    return not references or not theirs or not references.isdisjoint(theirs)


def _read_references(row: Mapping[str, Any]) -> frozenset[str]:
    """Give the references of a row in every form: as they stand, and letters as the texts of their options too."""
    said = {_normalize(text) for name in _REFERENCES for text in _read_texts(name, row.get(name))} - {""}
    letters = zip(ascii_uppercase.lower(), row.get("options") or (), strict=False)
    return frozenset(said | {_normalize(option) for letter, option in letters if letter in said})


def _read_texts(name: str, value: Any) -> Sequence[Any]:
    if name == "label" and value is not None:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
    return value if isinstance(value, list) else [value]


def _normalize(value: Any) -> str:
    return "" if value is None else " ".join(str(value).split()).casefold()
