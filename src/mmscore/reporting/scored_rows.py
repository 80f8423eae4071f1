"""The rows behind the numbers, as a parquet file: what was read, by which rule, with which score."""

import os
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mmconvert.core.errors import build_write_error
from mmconvert.dataset.publish import open_output
from mmconvert.storage.atomic import sync_file, sync_folder
from mmscore.core.report import Entry
from mmscore.core.table import JUDGE_FIELDS, SCORES, Scored

SPAN = pa.struct([("start", pa.int32()), ("end", pa.int32())])
ROWS_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("recipe", pa.string()),
        ("model", pa.string()),
        ("status", pa.string()),
        ("value", pa.string()),
        ("how", pa.string()),
        ("span", SPAN),
        ("scores", SCORES),
        *JUDGE_FIELDS,
    ]
)
"""The columns of schemas/rows.json: one row an id, recipe and model."""


class RowsWriter:
    """Writes a rows file that is written atomically; use as a context manager."""

    def __init__(self, path: str | Path) -> None:
        """Open a temporary file beside the place.

        Args:
            path: The file, or its URL in a store.

        Raises:
            UsageError: The folder does not exist or may not be written to.
        """
        self._stack = ExitStack()
        self._path = self._stack.enter_context(open_output(path))
        self._temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}.new")
        try:
            self._writer = pq.ParquetWriter(self._temporary, ROWS_SCHEMA, compression="zstd", write_page_checksum=True)
        except OSError as error:
            self._temporary.unlink(missing_ok=True)
            raise build_write_error(path, error) from None

    def __enter__(self) -> "RowsWriter":
        """Give the writer itself."""
        return self

    def write(self, entry: Entry, scored: Scored) -> None:
        """Append the rows of one entry, in their order.

        Raises:
            Error: The disk has no room.
        """
        table = build_rows_table(entry, scored)
        try:
            self._writer.write_table(table)
        except OSError as error:
            raise build_write_error(self._path, error) from None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Publish the file, or remove it when something went wrong.

        Raises:
            Error: The disk has no room.
        """
        try:
            self._finish(is_whole=kind is None)
        except OSError as failure:
            # What went wrong before says more than that the rest cannot be written either.
            if error is None:
                raise build_write_error(self._path, failure) from None
        finally:
            self._temporary.unlink(missing_ok=True)
        self._stack.__exit__(kind, error, trace)

    def _finish(self, *, is_whole: bool) -> None:
        self._writer.close()
        if is_whole:
            sync_file(self._temporary)
            self._temporary.replace(self._path)
            sync_folder(self._path.resolve().parent)


def build_rows_table(entry: Entry, scored: Scored) -> pa.Table:
    """Lay out scored rows as `ROWS_SCHEMA`.

    Args:
        entry: Names the recipe and the model.
        scored: Settled rows.

    Returns:
        One row a row, in order; `scores` lists only the scores that a row has.
    """
    n = len(scored)
    rows = scored.rows.combine_chunks()
    start, end = (rows[name].combine_chunks() for name in ("start", "end"))
    columns = {
        "id": rows["id"],
        "recipe": pa.array([f"{entry.recipe}@{entry.version}"] * n),
        "model": pa.array([entry.model] * n),
        "status": rows["status"],
        "value": rows["value"],
        "how": rows["how"],
        "span": pa.StructArray.from_arrays([start, end], fields=list(SPAN), mask=pc.is_null(start)),
        "scores": _build_scores(scored),
    }
    columns |= {name: rows[name] for name in JUDGE_FIELDS.names if name in rows.column_names}
    arrays = [columns.get(f.name, pa.nulls(n, f.type)) for f in ROWS_SCHEMA]
    return pa.Table.from_arrays(arrays, schema=ROWS_SCHEMA)


def _build_scores(scored: Scored) -> pa.Array:
    names, n = list(scored.scores), len(scored)
    matrix = np.stack([scored.scores[name] for name in names], axis=1) if names else np.empty((n, 0))
    present = ~np.isnan(matrix)
    offsets = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int32)
    which = np.broadcast_to(np.arange(len(names)), matrix.shape)[present]
    labels = pa.array(names, pa.string()).take(pa.array(which, pa.int32()))
    pairs = pa.StructArray.from_arrays([labels, pa.array(matrix[present])], fields=list(SCORES.value_type))
    return pa.ListArray.from_arrays(pa.array(offsets), pairs)
