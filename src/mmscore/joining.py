"""Put the references of a dataset beside predictions that lack them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mmconvert.errors import Error, got
from mmscore.predictions import Refusal, Rows

ANSWER_COLUMNS = frozenset(("id", "prediction", "prediction_status", "prediction_error", "method", "model"))
"""Columns that tell what a model did; all others tell what it was asked."""

_COPY = "variant"
_GIVE = "Give the dataset that was asked about: --answers DATASET."


def join(predictions: Rows, references: Rows) -> Rows:
    """Join predictions and the dataset they were made of: by id, else by sample and variant.

    Several replies to one question, which have a variant where the dataset has none, all find it by
    their sample, and keep their variants.

    Args:
        predictions: Rows whose `ANSWER_COLUMNS` count; their order stays.
        references: Rows whose other columns count; a column that only the predictions have stays.

    Returns:
        The predictions that have a reference; the others are `rejected`, and the references
        without a prediction `missing`.

    Raises:
        Error: No prediction finds a reference.
    """
    partner = _partners(predictions.identity, references.identity)
    found = pc.is_valid(partner)
    ids = predictions.identity["id"]
    if not pc.any(found).as_py():
        raise Error(
            f"{references.path}: has none of the ids of {predictions.path} {got(ids[0].as_py())}. "
            "Give the dataset that the predictions were made of."
        )
    unmatched = ids.filter(pc.invert(found)).to_pylist()
    numbers = pa.array(np.arange(len(references), dtype=np.int32))
    missing = references.identity["id"].filter(pc.invert(pc.is_in(numbers, value_set=partner)))

    questions_have = references.names - ANSWER_COLUMNS

    def read(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        asked = [name for name in columns if name in questions_have]
        own = [name for name in columns if name not in asked or (name == _COPY and name in predictions.names)]
        questions = pa.Table.from_batches(references.read(asked)) if asked else pa.table({})
        start = 0
        for batch in predictions.read(own or ["id"]):
            index = partner.slice(start, batch.num_rows)
            start += batch.num_rows
            batch, index = batch.filter(pc.is_valid(index)), index.drop_null()
            taken = questions.take(index) if asked else questions
            of_question = {name: taken[name].combine_chunks() for name in asked}
            of_reply = {name: batch.column(number) for number, name in enumerate(own)}
            arrays = [_either(of_question, of_reply, name) for name in columns]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    refused = tuple(Refusal(id, f"{references.path}: has no row with this id {got(id)}. {_GIVE}") for id in unmatched)
    return replace(
        predictions,
        names=predictions.names | questions_have,
        identity=_identity(predictions.identity.filter(found), references.identity.take(partner.drop_null())),
        read=read,
        rejected=predictions.rejected + refused,
        missing=tuple(missing.to_pylist()),
        sides=(predictions, references),
    )


def _partners(predictions: pa.Table, references: pa.Table) -> pa.Array:
    """Find the row number of each prediction's reference, null for none."""
    index = pc.index_in(predictions["id"], value_set=references["id"].combine_chunks(), skip_nulls=True)
    if all("sample" in t.column_names and _COPY in t.column_names for t in (predictions, references)):
        second = pc.index_in(_copy(predictions), value_set=_copy(references).combine_chunks(), skip_nulls=True)
        index = pc.coalesce(index, second)
        replies = pc.if_else(pc.is_valid(predictions[_COPY]), predictions["sample"], None)
        index = pc.coalesce(index, pc.index_in(replies, value_set=_alone(references), skip_nulls=True))
    return index.combine_chunks()


def _alone(references: pa.Table) -> pa.Array:
    """Give the sample of each row that has no variant, null where other rows have the same."""
    counts = pc.value_counts(references["sample"])
    single = counts.field("values").filter(pc.equal(counts.field("counts"), 1))
    sure = pc.and_(pc.is_null(references[_COPY]), pc.is_in(references["sample"], value_set=single))
    return pc.if_else(sure, references["sample"], None).combine_chunks()


def _either(found: Mapping[str, pa.Array], told: Mapping[str, pa.Array], name: str) -> pa.Array:
    """Give a column of the references, or of the predictions; which reply a row is, only the predictions may know."""
    if name in found and name in told:
        return pc.coalesce(found[name], told[name])
    return found[name] if name in found else told[name]


def _copy(table: pa.Table) -> pa.ChunkedArray:
    variant = pc.fill_null(table[_COPY].cast(pa.string()), "")
    return pc.binary_join_element_wise(table["sample"], variant, "\0")


def _identity(predictions: pa.Table, references: pa.Table) -> pa.Table:
    asked = [name for name in references.column_names if name not in ANSWER_COLUMNS]
    found = {name: references[name] for name in asked}
    told = {name: predictions[name] for name in predictions.column_names if name not in found or name == _COPY}
    return pa.table({name: _either(found, told, name) for name in dict.fromkeys([*told, *found])})
