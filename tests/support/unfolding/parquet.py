"""Parquet: values that stand in the file once, pages that are packed, cells that are large."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from support.unfolding.files import MB, writes

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c6360606000000004000127"
    "34277f0000000049454e44ae426082".replace(" ", "")
)


def _parquet(folder: Path, columns: dict[str, Any], **options: Any) -> Path:
    path = folder / "a.parquet"
    given = {"compression": "zstd", "dictionary_pagesize_limit": 1 << 30, **options}
    pq.write_table(pa.table(columns), path, **given)
    return path


def _ids(count: int) -> pa.Array:
    return pa.array([str(number) for number in range(count)])


def _same(value: Any, count: int, type_: pa.DataType) -> pa.Array:
    """Give a column of one value in all rows that takes the memory of one."""
    dictionary = pa.array([value], type_)
    return pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), dictionary)


@writes
def write_parquet_text_dictionary(folder: Path, size: int) -> Path:
    rows = 64
    column = _same("x" * (size // rows), rows, pa.string())
    return _plain_schema(folder, {"id": _ids(rows), "prediction": column, "answer": _ids(rows)})


@writes
def write_parquet_text_many_rows(folder: Path, size: int) -> Path:
    rows = max(64, size // (64 << 10))
    column = _same("x" * (64 << 10), rows, pa.string())
    return _plain_schema(folder, {"id": _ids(rows), "prediction": column, "answer": _ids(rows)})


@writes
def write_parquet_image_dictionary(folder: Path, size: int) -> Path:
    rows = 256
    image = PIXEL + bytes(size // rows)
    column = pa.StructArray.from_arrays(
        [_same(image, rows, pa.binary()), pa.array(["a.png"] * rows)], names=["bytes", "path"]
    )
    return _plain_schema(folder, {"question": _ids(rows), "answer": _ids(rows), "image": column})


@writes
def write_parquet_list_dictionary(folder: Path, size: int) -> Path:
    rows = 64
    values = _same("x" * (size // rows), rows, pa.string())
    column = pa.ListArray.from_arrays(pa.array(range(rows + 1), pa.int32()), values)
    return _plain_schema(folder, {"question": _ids(rows), "answers": column, "image": _images(rows)})


@writes
def write_parquet_kept_dictionary(folder: Path, size: int) -> Path:
    """The Arrow schema in the file says that the column is a dictionary."""
    rows = 64
    column = _same("x" * (size // rows), rows, pa.string())
    return _parquet(folder, {"id": _ids(rows), "prediction": column, "answer": _ids(rows)})


@writes
def write_parquet_huge_cell(folder: Path, size: int) -> Path:
    texts = pa.array(["a", "x" * size, "b"], pa.large_string())
    return _parquet(folder, {"id": _ids(3), "prediction": texts, "answer": _ids(3)}, use_dictionary=False)


@writes
def write_parquet_huge_id(folder: Path, size: int) -> Path:
    texts = pa.array(["a", "x" * size, "b"], pa.large_string())
    return _parquet(folder, {"id": texts, "prediction": _ids(3), "answer": _ids(3)}, use_dictionary=False)


@writes
def write_parquet_plain_zeros(folder: Path, size: int) -> Path:
    rows = 64
    cells = pa.array([PIXEL + bytes(size // rows)] * rows, pa.large_binary())
    return _parquet(folder, {"question": _ids(rows), "answer": _ids(rows), "image": cells}, use_dictionary=False)


@writes
def write_parquet_gzip_zeros(folder: Path, size: int) -> Path:
    rows = 16
    texts = pa.array(["0" * (size // rows)] * rows, pa.large_string())
    columns = {"id": _ids(rows), "prediction": texts, "answer": _ids(rows)}
    return _parquet(folder, columns, use_dictionary=False, compression="gzip")


@writes
def write_parquet_long_list(folder: Path, size: int) -> Path:
    values = (
        pa.array([0] * size, pa.int8())
        if size < MB
        else pa.concat_arrays([pa.array([0] * MB, pa.int8())] * (size // MB))
    )
    column = pa.LargeListArray.from_arrays(pa.array([0, 0, len(values)], pa.int64()), values)
    return _parquet(folder, {"id": _ids(2), "prediction": _ids(2), "extra_numbers": column})


@writes
def write_parquet_many_nulls(folder: Path, size: int) -> Path:
    rows = size
    return _parquet(folder, {"id": pa.nulls(rows, pa.string()), "prediction": pa.nulls(rows, pa.string())})


@writes
def write_parquet_skewed(folder: Path, size: int) -> Path:
    """Ten thousand small rows in front of the large ones."""
    few = 40
    large = pa.array(["x" * (size // few)], pa.string())
    small = pa.array(["A"] * 10_000, pa.string())
    texts = pa.chunked_array([small, *[large] * few])
    ids = _ids(len(texts))
    return _parquet(folder, {"id": ids, "prediction": texts, "answer": ids}, use_dictionary=False)


def _images(rows: int) -> pa.Array:
    return pa.StructArray.from_arrays([pa.array([PIXEL] * rows), pa.nulls(rows, pa.string())], names=["bytes", "path"])


def _plain_schema(folder: Path, columns: dict[str, Any]) -> Path:
    """Write dictionaries in the file, of which its Arrow schema says nothing."""
    return _parquet(folder, columns, store_schema=False)
