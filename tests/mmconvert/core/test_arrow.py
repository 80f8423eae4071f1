"""Columns are what `pa.array` would build, and pandas stays out."""

import subprocess
import sys

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmconvert.core.arrow import build_binary, build_column

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
COLUMNS = [
    (pa.string(), TEXTS),
    (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.list_(pa.string()), st.lists(st.none() | TEXTS, max_size=3)),
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
