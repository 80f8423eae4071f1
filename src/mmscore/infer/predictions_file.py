"""The predictions file: the dataset's rows without their images, and what the model said.

It is written atomically: rows go to a file beside it, which is forced to the disk and then
takes its name. The same rows and answers give the same bytes.
"""

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mmconvert.core.arrow import build_column
from mmconvert.core.errors import Error
from mmconvert.core.record import IMAGE_COLUMNS, PREDICTION_SCHEMA, SCHEMA, attach_features
from mmconvert.dataset.dataset import Dataset
from mmconvert.dataset.manifest import find_hub_source, find_selection
from mmconvert.dataset.selected import SelectedDataset
from mmconvert.dataset.shards import list_parquet_options
from mmconvert.io.parquet import list_leaves
from mmconvert.storage.atomic import sync_folder
from mmconvert.storage.parquet_sink import OutputFile
from mmscore.core.predictions.run_metadata import CONDITION, DATASET_SOURCE, RUN_METADATA, SELECTION
from mmscore.llm.response_cache import Answer

PREDICTIONS_SCHEMA: pa.Schema = attach_features(
    pa.schema([column for column in PREDICTION_SCHEMA if column.name not in IMAGE_COLUMNS])
)
"""Columns of a predictions file: `PREDICTION_SCHEMA` without the images."""

INTERRUPTED = "interrupted"
"""Key of `RUN_METADATA` that is true where a stopped run wrote the rows that it had come to."""

_ROW_GROUP_BYTES = 32 << 20
_ROW_GROUP_ROWS = 65_536
_BLOCK_ROWS = 256
"""Rows after which a row group may end."""
_VALUE_BYTES = 8
"""About what a value takes beside its text."""
_SURROGATES = re.compile("[\ud800-\udfff]")
_FROM_RECORD = [name for name in SCHEMA.names if name not in IMAGE_COLUMNS and name != "prediction"]


class PredictionsFile:
    """One predictions file that is written. Leaving the context well publishes it; an exception removes it."""

    _keeps_part = False

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        """Name the file; nothing is touched before `with`.

        Args:
            path: The file that shall appear, replacing one that stands there.
            about: JSON values on how the predictions were made, for the file's metadata.
        """
        self.path = path
        self._new = path.with_name(f".{path.name}.new")
        self._part = path.with_name(f".{path.name}.part")
        self._about = about
        self._schema = _build_schema(about)
        self._pending: list[pa.RecordBatch] = []
        self._bytes = self._group_bytes = self._group_rows = 0
        self._file: OutputFile
        self._writer: pq.ParquetWriter
        self._thread = ThreadPoolExecutor(max_workers=1)
        # Does the writing: no KeyboardInterrupt is raised in it, so what is begun is written whole.

    def __enter__(self) -> Self:
        """Begin the file beside its place; one that a killed run left is replaced."""
        # It starts before there is a row to lose.
        self._thread.submit(bool)
        with self._explain_errors():
            self._file = OutputFile(self._new)
        self._writer = pq.ParquetWriter(self._file, self._schema, **list_parquet_options(self._schema))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Publish, or remove what was written."""
        with self._thread:
            self._thread.submit(self._finish, kind).result()

    def _finish(self, kind: type[BaseException] | None) -> None:
        stopped = self._keeps_part and kind is not None and issubclass(kind, KeyboardInterrupt) and self._bytes > 0
        keeps = kind is None or (stopped and (not self.path.exists() or is_interrupted(self.path)))
        try:
            if keeps:
                self._flush()
            self._writer.close()
            # Windows moves no file that is open.
            self._file.close()
            if keeps:
                with self._explain_errors():
                    self._file.check()
                    if stopped:
                        self._mark_interrupted()
                    with self._new.open("rb+") as file:
                        os.fsync(file.fileno())
                    self._new.replace(self.path)
                    sync_folder(self.path.resolve().parent)
        finally:
            self._file.close()
            self._new.unlink(missing_ok=True)
            self._part.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _explain_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise Error(
                f"{self.path}: cannot be written ({error}); its rows so far take up to {self._bytes:,} bytes. "
                "The answers are kept. Make room and run the same command again."
            ) from error

    def _mark_interrupted(self) -> None:
        """Say in the file that its rows are not all; what it says of itself was fixed when it was begun."""
        schema = _build_schema({**self._about, "partial": True, INTERRUPTED: True})
        with (
            pq.ParquetFile(self._new) as written,
            OutputFile(self._part) as file,
            pq.ParquetWriter(file, schema, **list_parquet_options(schema)) as writer,
        ):
            for number in range(written.num_row_groups):
                group = written.read_row_group(number)
                writer.write_table(group.cast(schema), row_group_size=group.num_rows)
        self._part.replace(self._new)

    def copy(self, rows: pa.RecordBatch) -> None:
        """Append rows of another predictions file.

        Args:
            rows: All columns of `PREDICTIONS_SCHEMA`, in its order.
        """
        batch = pa.RecordBatch.from_arrays(rows.columns, schema=self._schema)
        self._thread.submit(self._add, batch).result()

    def _add(self, batch: pa.RecordBatch) -> None:
        """Keep rows until they fill a row group, whose end follows from the rows alone, however they come."""
        start = 0
        while start < batch.num_rows:
            piece = batch.slice(start, _BLOCK_ROWS - self._group_rows % _BLOCK_ROWS)
            start += piece.num_rows
            size = _weigh(piece)
            self._pending.append(piece)
            self._group_rows += piece.num_rows
            self._group_bytes += size
            self._bytes += size
            is_full = self._group_bytes >= _ROW_GROUP_BYTES or self._group_rows >= _ROW_GROUP_ROWS
            if is_full and self._group_rows % _BLOCK_ROWS == 0:
                self._flush()

    def _flush(self) -> None:
        if any(batch.num_rows for batch in self._pending):
            # In one piece: where batches end shall not be seen in the file.
            table = pa.Table.from_batches(self._pending).combine_chunks()
            self._writer.write_table(table, row_group_size=table.num_rows)
            with self._explain_errors():
                self._file.check()
            self._pending = []
            self._group_bytes = self._group_rows = 0


class PredictionWriter(PredictionsFile):
    """Writes the rows of a dataset with the answers of one model.

    A run that is told to stop leaves the rows that it has come to, marked as partial, unless a whole file
    stands there already.
    """

    _keeps_part = True

    def __init__(self, path: Path, *, model: str, method: str, about: Mapping[str, Any]) -> None:
        """Name the file; nothing is touched before `with`.

        Args:
            path: The file that shall appear, replacing one that stands there.
            model: Value of the `model` column.
            method: Value of the `method` column: generate or likelihood.
            about: JSON values on how the predictions were made, for the file's metadata.
        """
        super().__init__(path, about)
        self._constants = {"model": model, "method": method}

    def write(self, rows: pa.RecordBatch, answers: Sequence[Answer]) -> None:
        """Append rows with their answers.

        Args:
            rows: Rows of a dataset; columns outside the schema are passed over.
            answers: One answer a row, in the same order.
        """
        self._thread.submit(self._append, rows, answers).result()

    def _append(self, rows: pa.RecordBatch, answers: Sequence[Answer]) -> None:
        columns = {name: rows.column(name) for name in _FROM_RECORD}
        values: dict[str, list[Any]] = {
            "prediction": [_make_storable(a.text) for a in answers],
            "prediction_status": [a.status for a in answers],
            "prediction_error": [_make_storable(a.error) for a in answers],
            "finish_reason": [a.finish_reason for a in answers],
            "thinking": [_make_storable(a.thinking) for a in answers],
            "option_logprobs": [a.option_logprobs for a in answers],
            "option_tokens": [a.option_tokens for a in answers],
            "token_logprobs": [a.token_logprobs for a in answers],
            "prompt_tokens": [a.prompt_tokens for a in answers],
            "completion_tokens": [a.completion_tokens for a in answers],
            **{name: [value] * len(answers) for name, value in self._constants.items()},
        }
        columns |= {name: build_column(column, PREDICTIONS_SCHEMA.field(name).type) for name, column in values.items()}
        arrays = [columns[field.name].cast(field.type) for field in self._schema]
        self._add(pa.RecordBatch.from_arrays(arrays, schema=self._schema))


def _weigh(batch: pa.RecordBatch) -> int:
    """Count the bytes of the values of rows; those of two batches are the sum of theirs, wherever they are cut."""
    total = 0
    for leaf in (leaf for column in batch.columns for leaf in list_leaves(column)):
        total += _VALUE_BYTES * len(leaf)
        if pa.types.is_string(leaf.type) or pa.types.is_large_string(leaf.type):
            total += pc.sum(pc.binary_length(leaf)).as_py() or 0
    return total


def is_interrupted(path: Path) -> bool:
    """Tell whether a file holds the rows that a stopped run had come to, and no more."""
    try:
        about = json.loads((pq.read_schema(path).metadata or {}).get(RUN_METADATA, b"{}"))
    except (OSError, ValueError):
        return False
    return isinstance(about, dict) and about.get(INTERRUPTED) is True


def describe_dataset(dataset: Dataset) -> dict[str, Any]:
    """Say, for the file's metadata, which rows are asked about."""
    source = find_hub_source(dataset.path)
    about: dict[str, Any] = {"dataset_fingerprint": dataset.fingerprint, "dataset_rows": dataset.num_rows}
    if isinstance(dataset, SelectedDataset):
        about |= {"dataset_rows": dataset.whole_rows, CONDITION: dataset.condition.text}
    if selection := find_selection(dataset.path):
        about[SELECTION] = selection
    return about if source is None else {**about, DATASET_SOURCE: "@".join(source)}


def _build_schema(about: Mapping[str, Any]) -> pa.Schema:
    metadata = {RUN_METADATA: json.dumps(about, sort_keys=True).encode()}
    return PREDICTIONS_SCHEMA.with_metadata({**PREDICTIONS_SCHEMA.metadata, **metadata})


def _make_storable(text: str | None) -> str | None:
    # Arrow holds UTF-8, and a response cut inside a character may end in half of a surrogate pair.
    return None if text is None else _SURROGATES.sub("\ufffd", text)
