"""Put the references of a dataset beside predictions that lack them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mmconvert.errors import Error, got
from mmscore.predictions import Refusal, Rows

ANSWER_COLUMNS = frozenset(("id", "prediction", "prediction_status", "prediction_error", "method", "model"))
"""Columns that tell what a model did; all others tell what it was asked."""


def join(predictions: Rows, references: Rows) -> Rows:
    """Join predictions and the dataset they were made of: by id, else by sample and variant.

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
        own = [name for name in columns if name not in asked]
        questions = pa.Table.from_batches(references.read(asked)) if asked else pa.table({})
        start = 0
        for batch in predictions.read(own or ["id"]):
            index = partner.slice(start, batch.num_rows)
            start += batch.num_rows
            batch, index = batch.filter(pc.is_valid(index)), index.drop_null()
            taken = questions.take(index) if asked else questions
            arrays = [
                taken[name].combine_chunks() if name in asked else batch.column(own.index(name)) for name in columns
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    refused = tuple(Refusal(id, f"{references.path}: has no row with this id {got(id)}.") for id in unmatched)
    return replace(
        predictions,
        names=predictions.names | questions_have,
        identity=_identity(predictions.identity.filter(found), references.identity.take(partner.drop_null())),
        read=read,
        rejected=predictions.rejected + refused,
        missing=tuple(missing.to_pylist()),
    )


def _partners(predictions: pa.Table, references: pa.Table) -> pa.Array:
    """Find the row number of each prediction's reference, null for none."""
    index = pc.index_in(predictions["id"], value_set=references["id"].combine_chunks(), skip_nulls=True)
    if all("sample" in t.column_names and "variant" in t.column_names for t in (predictions, references)):
        second = pc.index_in(_copy(predictions), value_set=_copy(references).combine_chunks(), skip_nulls=True)
        index = pc.coalesce(index, second)
    return index.combine_chunks()


def _copy(table: pa.Table) -> pa.ChunkedArray:
    variant = pc.fill_null(table["variant"].cast(pa.string()), "")
    return pc.binary_join_element_wise(table["sample"], variant, "\0")


def _identity(predictions: pa.Table, references: pa.Table) -> pa.Table:
    asked = [name for name in references.column_names if name not in ANSWER_COLUMNS]
    names = dict.fromkeys([*predictions.column_names, *asked])
    return pa.table({name: (references if name in asked else predictions)[name] for name in names})
