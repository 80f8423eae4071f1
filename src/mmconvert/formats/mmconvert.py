"""Datasets of this project: a published folder, or one parquet file with all its columns.

Records come back as they are, with their own provenance; pictures are checked again, because a dataset
may come from anywhere.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from mmconvert.errors import RowError, got, in_field
from mmconvert.format import Context, Format, Sample
from mmconvert.manifest import MANIFEST
from mmconvert.record import PICTURE_COLUMNS, Image, Record, from_row, missing_columns
from mmconvert.sources import Rejected, Row, Span, parquet
from mmconvert.store import open_dataset


def _rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    files = [path] if path.is_file() else [f for files in open_dataset(path).files.values() for f in files]
    for file in files:
        yield from parquet.rows(file, span)


def _records(row: Row, context: Context) -> Iterable[Record]:
    fields = {**{name: [] for name in PICTURE_COLUMNS}, **row.fields}
    try:
        record = from_row(fields)
    except (KeyError, TypeError, ValueError) as error:
        raise RowError("record.shape", "", f"the row does not have the shape of a record ({error}).") from None
    if not record.id:
        raise RowError("id.missing", "id", f"the row has no id {got(record.id)}.")
    yield replace(
        record,
        images=tuple(_checked(image, "images", context) for image in record.images),
        attachments=tuple(_checked(image, "attachments", context) for image in record.attachments),
        dataset=context.dataset or record.dataset,
        subset=context.subset or record.subset,
        task=context.task or record.task,
    )


def _checked(image: Image, field: str, context: Context) -> Image:
    if image.bytes is None and image.url:
        return image
    with in_field(field):
        checked = context.pictures.of_bytes(image.bytes or b"", image.slot, image.name, image.detail)
    return replace(checked, url=image.url)


def _mismatch(sample: Sample) -> str | None:
    if sample.path.is_dir():
        return None if (sample.path / MANIFEST).is_file() else f"no {MANIFEST} in the folder"
    missing = missing_columns(sample.columns)
    return f"no column {missing[0]!r}" if missing else None


FORMAT = Format(
    summary="A dataset of this project: folder or parquet file",
    suffixes=("", ".parquet"),
    rows=_rows,
    records=_records,
    mismatch=_mismatch,
    cuttable=True,
)
