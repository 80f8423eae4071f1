"""Columns are what `pa.array` would build, and pandas stays out."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmconvert.core.arrow import build_binary, build_column, build_scalar, from_numpy, list_texts, to_numpy

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
_PART = pa.struct([("text", pa.string()), ("data", pa.binary()), ("score", pa.float64())])
PARTS = st.fixed_dictionaries(
    {"text": st.none() | TEXTS}, optional={"data": st.none() | st.binary(max_size=3), "score": st.floats(0, 1)}
)
TURNS = st.none() | st.fixed_dictionaries({"content": st.none() | st.lists(st.none() | PARTS, max_size=2)})
COLUMNS = [
    (pa.string(), TEXTS),
    (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.list_(pa.string()), st.lists(st.none() | TEXTS, max_size=3)),
    (pa.binary(), st.binary(max_size=5)),
    (_PART, PARTS),
    (pa.list_(pa.struct([("content", pa.list_(_PART))])), st.lists(TURNS, max_size=2)),
]


@pytest.mark.parametrize(("kind", "values"), COLUMNS)
def test_a_column_is_what_arrow_builds(kind: pa.DataType, values: st.SearchStrategy) -> None:
    rows = st.lists(values, max_size=6)
    if not pa.types.is_list(kind):
        rows |= st.lists(st.none() | values, max_size=6)

    # The first `pa.array` takes its time.
    @settings(deadline=None)
    @given(rows=rows)
    def check(rows: list) -> None:
        built = build_column(rows, kind)
        built.validate(full=True)
        assert built.equals(pa.array(rows, kind))

    check()


@settings(deadline=None)
@given(rows=st.lists(st.none() | st.binary(max_size=5), max_size=6))
def test_bytes(rows: list[bytes | None]) -> None:
    built = build_binary(rows)
    built.validate(full=True)
    assert built.equals(pa.array(rows, pa.binary()))


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        build_column(["a", "\ud800"], pa.string())


def test_writing_records_does_not_import_pandas() -> None:
    script = """
import pathlib, sys, tempfile
from mmconvert.core.record import Image, Part, Record, Source, Turn
from mmconvert.dataset.shards import RecordWriter
turn = Turn("user", (Part("image"), Part("text", "What?")))
images = (Image(b"x", 1, sha256="y"),)
record = Record("1", "1", (turn,), "vqa", Source("f", "f", 0), images, options=("a", None), variant=1)
with tempfile.TemporaryDirectory() as folder:
    writer = RecordWriter(pathlib.Path(folder), "x")
    writer.write([record, record])
    writer.close()
sys.exit("pandas" in sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


NUMBERS = [
    (np.int32, st.integers(-(2**31), 2**31 - 1)),
    (np.int64, st.integers(-(2**63), 2**63 - 1)),
    (np.float64, st.floats()),
    (np.bool_, st.booleans()),
]


@pytest.mark.parametrize(("dtype", "values"), NUMBERS)
def test_numbers_go_to_arrow_and_back_as_they_are(dtype: type, values: st.SearchStrategy) -> None:
    @settings(deadline=None)
    @given(rows=st.lists(values, max_size=20), cut=st.integers(0, 20), chunks=st.integers(1, 3))
    def check(rows: list, cut: int, chunks: int) -> None:
        numbers = np.array(rows, dtype)
        column = from_numpy(numbers)
        column.validate(full=True)
        assert column.type == pa.from_numpy_dtype(dtype)
        assert column.null_count == 0
        np.testing.assert_array_equal(to_numpy(column), numbers)
        np.testing.assert_array_equal(to_numpy(column.slice(cut)), numbers[cut:])
        np.testing.assert_array_equal(to_numpy(pa.chunked_array([column] * chunks)), np.tile(numbers, chunks))
        assert to_numpy(pa.chunked_array([], column.type)).dtype == dtype

    check()


def test_numbers_of_which_one_is_null_are_refused() -> None:
    with pytest.raises(ValueError, match="1 values are null"):
        to_numpy(build_column([1, None], pa.int32()))


@settings(deadline=None)
@given(texts=st.lists(st.none() | TEXTS | st.text("ab", max_size=3), max_size=12), start=st.integers(0, 12))
def test_texts_and_bytes_are_listed(texts: list[str | None], start: int) -> None:
    column = pa.array(texts, pa.string())
    assert list_texts(column) == texts
    assert list_texts(column.slice(start)) == texts[start:]
    assert list_texts(column.slice(start, 3)) == texts[start : start + 3]
    binary = column.cast(pa.binary()).slice(start)
    assert list_texts(binary) == [None if t is None else t.encode() for t in texts[start:]]
    # Null texts of other writers may have characters.
    hidden = pc.if_else(pa.array([True, False] * len(texts))[: len(texts)], column, pa.nulls(len(texts), pa.string()))
    assert list_texts(hidden) == hidden.to_pylist()


@pytest.mark.parametrize("value", ["a", "", True, False, 0, -7])
def test_a_scalar_has_the_type_of_its_value(value: str | bool | int) -> None:
    assert build_scalar(value) == pa.scalar(value)
