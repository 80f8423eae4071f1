"""Datasets of this project: a published folder, or one parquet file with all its columns.

Records come back as they are, with their own provenance; images are checked again, because a dataset
may come from anywhere.

Kept: everything, `source` included; of a predictions file `model` and `method` in `extra`.
Refused: columns of another type, rows that do not have the shape of a record (`record.shape`), images that
are damaged.
Lost: the other columns of a predictions file beside `prediction`, such as status and log-probabilities.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from msgspec.structs import replace

from mmconvert.core.errors import Error, RowError, in_field, show
from mmconvert.core.record import IMAGE_COLUMNS, LATER_FIELDS, SCHEMA, Image, Record, from_row, list_missing_columns
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.dataset.dataset import open_dataset
from mmconvert.dataset.manifest import MANIFEST, find_config_folder
from mmconvert.io import parquet
from mmconvert.plugins.format import Context, Format, Sample

_ADDRESS = re.compile("https?://", re.IGNORECASE)

_OF_RUN = ("model", "method")
"""Columns of a predictions file that say what made its predictions, which frameworks' file names tell."""


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    files = [path] if path.is_file() else [f for files in open_dataset(path).files.values() for f in files]
    for file in files:
        _require_types(file)
        yield from parquet.rows(file, span)


def _require_types(path: Path) -> None:
    schema = parquet.open_parquet(path).schema_arrow
    for ours in SCHEMA:
        if ours.name in schema.names and not _holds(schema.field(ours.name).type, ours.type):
            found = str(schema.field(ours.name).type)[:80]
            message = f"{path} {ours.name}: expected {ours.type}, the column holds {found}. Convert its source again."
            raise Error(message)


def _holds(found: pa.DataType, ours: pa.DataType) -> bool:
    """Tell whether a column gives the Python values that ours gives; other programs may have written it again."""
    if pa.types.is_null(found):
        return True
    if pa.types.is_list(ours):
        return _is_list(found) and _holds(found.value_type, ours.value_type)
    if pa.types.is_struct(ours):
        return bool(pa.types.is_struct(found)) and all(
            _holds(found.field(field.name).type, field.type)
            if found.get_field_index(field.name) >= 0
            else field.name in LATER_FIELDS
            for field in ours
        )
    kinds = (
        (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
        (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view),
        (pa.types.is_integer,),
        (pa.types.is_floating,),
        (pa.types.is_boolean,),
    )
    return any(any(is_one(found) for is_one in same) and any(is_one(ours) for is_one in same) for same in kinds)


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = {**{name: [] for name in IMAGE_COLUMNS}, **row.fields}
    try:
        record = from_row(fields)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise RowError("record.shape", "", f"the row does not have the shape of a record ({error}).") from None
    if not record.id:
        raise RowError("id.missing", "id", f"the row has no id {show(record.id)}.")
    if not isinstance(record.extra, dict):
        raise RowError("record.shape", "extra", f"expected an object of fields {show(record.extra)}.")
    said = {name: fields[name] for name in _OF_RUN if isinstance(fields.get(name), str)}
    yield replace(
        record,
        extra={**said, **record.extra},
        images=tuple(_check_image(image, "images", context) for image in record.images),
        attachments=tuple(_check_image(image, "attachments", context) for image in record.attachments),
        dataset=context.dataset or record.dataset,
        subset=context.subset or record.subset,
        task=context.task or record.task,
    )


def _check_image(image: Image, field: str, context: Context) -> Image:
    if image.bytes is None and image.url:
        images = context.images
        wanted = images.fetch is not None and not images.keep_urls and _ADDRESS.match(image.url)
        with in_field(field):
            fetched = images.of_reference(image.url, image.slot, image.detail) if wanted else image
        return replace(fetched, name=image.name, time=image.time, source_name=image.source_name)
    with in_field(field):
        checked = context.images.of_bytes(image.bytes or b"", image.slot, image.name, image.detail)
    return replace(checked, url=image.url, time=image.time, source_name=image.source_name)


def _find_mismatch(sample: Sample) -> str | None:
    if sample.path.is_dir():
        ours = (sample.path / MANIFEST).is_file() or find_config_folder(sample.path) is not None
        return None if ours else f"no {MANIFEST} in the folder"
    if "prediction_status" in sample.columns and "images" not in sample.columns:
        return "a predictions file, which holds no images"
    missing = list_missing_columns(sample.columns)
    return f"no column {missing[0]!r}" if missing else None


FORMAT = Format(
    summary="A dataset of this project: folder or parquet file",
    suffixes=("", ".parquet"),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    cuttable=True,
)
