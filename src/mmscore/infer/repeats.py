"""Several responses to a row: each is a row of the output, distinguished by `variant`."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from mmconvert.core.errors import Error
from mmconvert.core.record import IMAGE_COLUMNS, Record
from mmscore.llm.response_cache import build_answer_key


def repeat_records(records: Sequence[Record], n: int) -> list[Record]:
    """Give what a backend is asked: each record `n` times in a row, the number of the response as its variant.

    The first response is asked for with the record as it stands, so that a draw does not depend on `n`.

    Args:
        records: The rows.
        n: Responses a row, from 1.

    Raises:
        Error: A row is one of several copies, whose numbers the responses would take.
    """
    if n > 1 and (copy := next((record for record in records if record.variant is not None), None)):
        raise Error(
            f"row {copy.id!r}: is copy {copy.variant} of its question already. Leave --n out: each copy "
            "gets a response."
        )
    return [replace(record, variant=response) if response else record for record in records for response in range(n)]


def build_response_keys(keys: Sequence[str], n: int) -> list[str]:
    """Give the key of each response; that of the first is the row's, and more responses leave it as it is.

    Example:
        >>> build_response_keys(["k"], 1), build_response_keys(["k"], 3)[:2] == build_response_keys(["k"], 2)
        (['k'], True)
    """
    return [build_answer_key(key, response) if response else key for key in keys for response in range(n)]


def repeat_rows(rows: pa.RecordBatch, n: int) -> pa.RecordBatch:
    """Repeat rows as the output holds them: ids `<id>#<reply>`, the number of the response as `variant`.

    Args:
        rows: Rows of a dataset.
        n: Responses a row; 1 leaves the rows as they are.

    Returns:
        The rows, without images when they are repeated.
    """
    if n == 1:
        return rows
    rows = rows.drop_columns([name for name in IMAGE_COLUMNS if name in rows.schema.names])
    repeated = rows.take(pa.array(np.repeat(np.arange(rows.num_rows), n)))
    variants = pa.array(np.tile(np.arange(n), rows.num_rows), rows.schema.field("variant").type)
    ids = [f"{id}#{variant}" for id, variant in zip(repeated["id"].to_pylist(), variants.to_pylist(), strict=True)]
    place = repeated.schema.get_field_index
    repeated = repeated.set_column(place("id"), rows.schema.field("id"), pa.array(ids, rows.schema.field("id").type))
    return repeated.set_column(place("variant"), rows.schema.field("variant"), variants)
