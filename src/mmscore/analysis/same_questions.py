"""Whether rows of one id in two files are one question: their references and options tell."""

import json
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mmscore.core.predictions.load import Rows

_REFERENCES = ("answer", "answers", "label")
_TOLD_BY = frozenset((*_REFERENCES, "options"))


def unlike(a: Rows, b: Rows, ids: pa.Array) -> tuple[str, ...]:
    """Find ids under which two files have different questions.

    Rows differ where both say what their options are and these are not the same texts, in whatever order; or
    where both have references and no reference of one is one of the other. A letter stands for its option too;
    case and white space do not count. What a file does not say is no difference, nor is the wording of a question,
    which each kit writes in its own way.

    Args:
        a: One file.
        b: The other.
        ids: Ids that both have.

    Raises:
        Error: A file is damaged.
    """
    if not (a.names & _TOLD_BY and b.names & _TOLD_BY):
        return ()
    sides = zip(ids.to_pylist(), _rows(a, ids), _rows(b, ids), strict=True)
    return tuple(id for id, one, other in sides if one != other and not _alike(one, other))


def _rows(rows: Rows, ids: pa.Array) -> Iterator[Mapping[str, Any]]:
    """Give what tells a question, id by id; only as many rows as a batch has are Python values at a time."""
    names = sorted(rows.names & _TOLD_BY)
    table = pa.Table.from_batches(rows.read(["id", *names]))
    places = pc.index_in(ids, value_set=table["id"].combine_chunks())
    for batch in table.select(names).take(places).to_batches(max_chunksize=10_000):
        yield from batch.to_pylist()


def _alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    options, others = (frozenset(map(_plain, _options(row))) - {""} for row in (one, other))
    if options and others and options != others:
        return False
    references, theirs = _references(one), _references(other)
    return not references or not theirs or not references.isdisjoint(theirs)


def _options(row: Mapping[str, Any]) -> Sequence[str | None]:
    return row.get("options") or ()


def _references(row: Mapping[str, Any]) -> frozenset[str]:
    """Give the references of a row in every form: as they stand, and letters as the texts of their options too."""
    said = {_plain(text) for name in _REFERENCES for text in _texts(name, row.get(name))} - {""}
    letters = zip(ascii_uppercase.lower(), _options(row), strict=False)
    return frozenset(said | {_plain(option) for letter, option in letters if letter in said})


def _texts(name: str, value: Any) -> Sequence[Any]:
    if name == "label" and value is not None:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
    return value if isinstance(value, list) else [value]


def _plain(value: Any) -> str:
    return "" if value is None else " ".join(str(value).split()).casefold()
