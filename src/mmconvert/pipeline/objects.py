"""Data in memory as inputs: written to a file that goes away, so that it is read by the same rules as a file.

Taken are `datasets.Dataset` and `IterableDataset`, pandas and Arrow tables and whatever else gives an Arrow stream,
dicts in any iterable, and mappings of split names to any of these, such as a `DatasetDict`. Paths in the data are those
of a file in the current folder: no image outside the image root is read.
"""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from mmconvert.core.errors import Error, UsageError, show
from mmconvert.core.json_values import convert_to_json
from mmconvert.dataset.dataset import Dataset
from mmconvert.io.detect import guess
from mmconvert.io.field_mapping import parse_mapping
from mmconvert.io.write_delimited import write_json_array, write_jsonl
from mmconvert.pipeline.convert import WriteOptions, convert
from mmconvert.pipeline.inputs import plan_inputs
from mmconvert.pipeline.read import ReadOptions
from mmconvert.plugins.format import Format
from mmconvert.plugins.registry import load
from mmconvert.storage.temporary import build_temporary_prefix

Data = object
"""What `open_inputs` takes beside paths."""

PARQUET, _TEXTS = ".parquet", (".jsonl", ".json")
_HEAD_ROWS = 8
_BATCH_ROWS = 1_000
_EXPECTED = "a path, a list of paths, or data: a Dataset, a DataFrame, an Arrow table, a list of dicts"


class Inputs(msgspec.Struct, frozen=True):
    """Files of inputs.

    Attributes:
        paths: Name of the split, None where the data have none, and path or name of each.
        in_memory: They were made of data in memory: relative paths in them begin in the current folder.
    """

    paths: Sequence[tuple[str | None, str]]
    in_memory: bool = False

    @property
    def names(self) -> list[str]:
        """The inputs as `plan_inputs` takes them."""
        return [path if split is None else f"{split}={path}" for split, path in self.paths]


@contextlib.contextmanager
def open_inputs(given: Data, verb: str, *, format: str | None = None, mapping: Sequence[str] = ()) -> Iterator[Inputs]:
    """Name the files of inputs that may be data in memory; files made for these go away at the end.

    Args:
        given: A path, paths, or data.
        verb: The caller's function, for messages.
        format: Format that the user names, None to tell it from the rows.
        mapping: `FIELD=COLUMN` each, as the user gives them.

    Raises:
        UsageError: It is neither a path nor data, or there is nothing.
        Error: A value cannot be written.
    """
    given = _peek(given)
    if (names := _list_names(given)) is not None:
        yield Inputs([(None, name) for name in names])
        return
    with tempfile.TemporaryDirectory(prefix=build_temporary_prefix()) as folder:
        writer = _Writer(Path(folder), verb, format, parse_mapping(mapping))
        if isinstance(given, Mapping):
            if not all(isinstance(name, str) for name in given) or not given:
                raise UsageError(f"{verb}: expected data by the names of their splits {show(given)}.")
            paths = [(split, str(writer.write(value, split))) for split, value in given.items()]
        else:
            split = _read_split(given)
            paths = [(split, str(writer.write(given, split or "rows")))]
        yield Inputs(paths, in_memory=True)


@contextlib.contextmanager
def open_dataset_of(given: Data, verb: str) -> Iterator[str | Path]:
    """Give the place of a dataset created by mmconvert; data in memory are converted to one that goes away at the end.

    Args:
        given: A folder, file or URL created by mmconvert, or data as `open_inputs` takes them, of one split.
        verb: The caller's function, for messages.

    Raises:
        UsageError: It is neither.
        Error: The data cannot be written, or a row of them is refused.
    """
    if isinstance(given, str | Path | Dataset):
        yield given.path if isinstance(given, Dataset) else given
        return
    with open_inputs(given, verb) as files, tempfile.TemporaryDirectory(prefix=build_temporary_prefix()) as folder:
        place = Path(folder, "dataset")
        convert(plan_inputs(files.names), place, ReadOptions(image_roots=(".",)), WriteOptions(fail_on_bad=True))
        yield place


def _peek(given: Data) -> Data:
    """Draw paths from an iterator; one of rows is given back whole."""
    if not isinstance(given, Iterator):
        return given
    first = [*islice(given, 1)]
    return [*first, *given] if first and isinstance(first[0], str | os.PathLike) else chain(first, given)


def _list_names(given: Any) -> list[str] | None:
    """Give the names of paths; None for data."""
    if isinstance(given, str | os.PathLike):
        return [os.fspath(given)]
    if isinstance(given, Dataset):
        return [str(given.path)]
    if (
        isinstance(given, list | tuple | set | frozenset)
        and given
        and all(isinstance(one, str | os.PathLike) for one in given)
    ):
        return [os.fspath(one) for one in given]
    return None


def _read_split(data: Data) -> str | None:
    """Give the split that a dataset of the library `datasets` is, where it is a whole one."""
    hf = sys.modules.get("datasets")
    split = str(data.split) if hf is not None and isinstance(data, hf.Dataset | hf.IterableDataset) else ""
    return split if split.isidentifier() and split != "None" else None


class _Writer(msgspec.Struct, frozen=True):
    """Writes data to files of a folder."""

    folder: Path
    verb: str
    format: str | None
    mapping: tuple[tuple[str, str], ...]

    def write(self, data: Data, name: str) -> Path:
        """Write one table of data under a name without suffix, in the kind of file whose format it has.

        Raises:
            UsageError: It is no data.
            Error: A value cannot be written.
        """
        batches = _open_batches(data)
        if batches is None:
            return self._write_rows(data, name)
        first = next(batches, None)
        if first is None:
            raise Error(f"{self.verb}: the data has no rows. Give some.")
        head = [_drop_nulls(row) for row in first.slice(0, _HEAD_ROWS).to_pylist()]
        suffix = self._choose_suffix(head, (PARQUET, *_TEXTS))
        path, batches = self.folder / f"{name}{suffix}", chain([first], batches)
        if suffix == PARQUET:
            self._write_batches(batches, path)
        else:
            rows = (_drop_nulls(row) for batch in batches for row in batch.to_pylist())
            self._write_text(map(convert_to_json, rows), path)
        return path

    def _write_rows(self, data: Data, name: str) -> Path:
        rows = map(self._read_row, enumerate(_open_rows(data, self.verb)))
        head = [*islice(rows, _HEAD_ROWS)]
        if not head:
            raise UsageError(f"{self.verb}: no inputs. Give {_EXPECTED}.")
        suffix = self._choose_suffix(head, (*_TEXTS, PARQUET))
        path = self.folder / f"{name}{suffix}"
        if suffix == PARQUET:
            self._write_batches(self._build_batches(chain(head, rows)), path)
        else:
            self._write_text(map(convert_to_json, chain(head, rows)), path)
        return path

    def _read_row(self, numbered: tuple[int, Any]) -> dict[str, Any]:
        number, row = numbered
        if not isinstance(row, Mapping) and not number:
            raise UsageError(f"{self.verb}: expected {_EXPECTED} {show(row)}.")
        if not isinstance(row, Mapping):
            raise UsageError(f"{self.verb}: row {number}: expected a dict of fields {show(row)}. Give {_EXPECTED}.")
        found: dict[str, Any] = _simplify(dict(row))
        return found

    def _choose_suffix(self, head: Sequence[Mapping[str, Any]], suffixes: Sequence[str]) -> str:
        """Choose the kind of file that a format of its own reads, else the first that any format reads."""
        if any(map(_holds_bytes, head)):
            return PARQUET
        if self.format is not None:
            plugin: Format = load("mmconvert.formats", self.format)
            return next((suffix for suffix in suffixes if suffix in plugin.suffixes), suffixes[0])
        found: dict[str, bool] = {}
        for suffix in suffixes:
            path = self.folder / f"head{suffix}"
            with contextlib.suppress(Error):
                if suffix == PARQUET:
                    self._write_batches(self._build_batches(head), path)
                else:
                    self._write_text(map(convert_to_json, head), path)
                plugin = load("mmconvert.formats", guess(path, self.mapping)[0])
                found[suffix] = plugin.fallback
            path.unlink(missing_ok=True)
        return next((suffix for suffix in found if not found[suffix]), next(iter(found), suffixes[0]))

    def _build_batches(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[pa.RecordBatch]:
        try:
            yield from pa.Table.from_pylist([*rows]).to_batches(_BATCH_ROWS)
        except (pa.ArrowException, OverflowError) as error:
            reason = str(error).splitlines()[0]
            raise Error(f"{self.verb}: the rows have no common type ({reason}). Give each column one type.") from None

    def _write_batches(self, batches: Iterator[pa.RecordBatch], path: Path) -> None:
        first = next(batches)
        with pq.ParquetWriter(path, first.schema) as writer:
            for batch in chain([first], batches):
                writer.write_batch(batch)

    def _write_text(self, rows: Iterable[Any], path: Path) -> None:
        try:
            (write_jsonl if path.suffix == ".jsonl" else write_json_array)(rows, path)
        except (TypeError, ValueError, RecursionError) as error:
            raise Error(f"{self.verb}: a value cannot be written as JSON ({error}). Leave it out.") from None


def _open_batches(data: Any) -> Iterator[pa.RecordBatch] | None:
    """Give data in columns as batches; None for anything else."""
    found: Iterator[pa.RecordBatch] | None = None
    hf, pandas = (sys.modules.get(name) for name in ("datasets", "pandas"))
    if hf is not None and isinstance(data, hf.Dataset):
        # As they are stored: no image is decoded.
        found = (batch for table in data.with_format("arrow").iter(_BATCH_ROWS) for batch in table.to_batches())
    elif isinstance(data, pa.RecordBatch):
        found = iter([data])
    elif isinstance(data, pa.Table):
        found = iter(data.to_batches(_BATCH_ROWS))
    elif pandas is not None and isinstance(data, pandas.DataFrame):
        found = _open_frame(data)
    elif hasattr(data, "__arrow_c_stream__"):
        found = iter(pa.RecordBatchReader.from_stream(data))
    return found


def _open_frame(data: Any) -> Iterator[pa.RecordBatch] | None:
    """Read a data frame; None where a column has values of several types, which are read row by row."""
    try:
        batches: list[pa.RecordBatch] = pa.Table.from_pandas(data, preserve_index=False).to_batches(_BATCH_ROWS)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    return iter(batches)


def _open_rows(data: Any, verb: str) -> Iterable[Any]:
    """Give data row by row.

    Raises:
        UsageError: It has no rows.
    """
    hf, pandas = (sys.modules.get(name) for name in ("datasets", "pandas"))
    if hf is not None and isinstance(data, hf.IterableDataset):
        rows: Iterable[Any] = data.decode(False) if data.features is not None else data
        return rows
    if pandas is not None and isinstance(data, pandas.DataFrame):
        return [*data.to_dict("records")]
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise UsageError(f"{verb}: expected {_EXPECTED} {show(data)}.")
    return data


def _drop_nulls(value: Any) -> Any:
    """Leave out fields that are null: in columns, a field that a row lacks is one."""
    if isinstance(value, dict):
        return {name: _drop_nulls(item) for name, item in value.items() if item is not None}
    return [_drop_nulls(item) for item in value] if isinstance(value, list) else value


def _simplify(value: Any) -> Any:
    """Give a value of a row as files hold it: images as their bytes, arrays as lists, missing values as null."""
    if value is None or isinstance(value, str | bytes | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(name): _simplify(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_simplify(item) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    pillow = sys.modules.get("PIL.Image")
    if pillow is not None and isinstance(value, pillow.Image):
        return {"bytes": _encode_image(value), "path": None}
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    return _simplify(value.tolist()) if hasattr(value, "tolist") else value


def _encode_image(image: Any) -> bytes:
    """Encode an image of Pillow as PNG, without a loss where PNG has its mode."""
    buffer = BytesIO()
    try:
        image.save(buffer, "PNG")
    except OSError:
        image.convert("RGB").save(buffer, "PNG")
    return buffer.getvalue()


def _holds_bytes(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_holds_bytes, value.values()))
    return any(map(_holds_bytes, value)) if isinstance(value, list) else isinstance(value, bytes)
