"""Parquet files that unfold to far more than they hold, with all limits made small so that the tests are."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmconvert.core.errors import Error
from mmconvert.core.rows import Rejected, Row
from mmconvert.io import parquet
from mmconvert.io.parquet_pages import BadPageError, Page, find_most_bytes, list_pages
from support.unfolding import KB, MB, WRITERS

DICTIONARIES = [
    "parquet_text_dictionary", "parquet_image_dictionary", "parquet_list_dictionary", "parquet_kept_dictionary",
    "parquet_text_many_rows", "parquet_skewed",
]  # fmt: skip


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("PAGE_BYTES", 4), ("BATCH_BYTES", 4), ("UNFOLDED_BYTES", 8), ("MOST_ROW_BYTES", 1)):
        monkeypatch.setattr(parquet, name, size * MB)
    monkeypatch.setattr(parquet, "MOST_TIMES", 1)
    monkeypatch.setattr(parquet, "EACH_ROW_BYTES", 0)


def read_all(path: Path) -> tuple[list[Row], list[Rejected], str]:
    """Read a file; give its rows, the refused ones, and why the file was refused, if it was."""
    rows, rejected = [], []
    try:
        for item in parquet.rows(path):
            (rows if isinstance(item, Row) else rejected).append(item)
    except Error as error:
        return rows, rejected, str(error)
    return rows, rejected, ""


@pytest.mark.parametrize("name", DICTIONARIES)
def test_what_a_dictionary_names_again_and_again_is_read_a_little_at_a_time(
    name: str, tmp_path: Path, small_limits: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = []
    measure = parquet._measure_batch
    monkeypatch.setattr(parquet, "_measure_batch", lambda batch: held.append(measure(batch)) or held[-1])
    path = WRITERS[name](tmp_path, 75 * MB)
    _, _, refusal = read_all(path)
    assert "bytes unfold to more than 8,388,608, and the rest is not read. Write it again from its source." in refusal
    assert max(held) < 5 * MB


@pytest.mark.parametrize("name", ["parquet_huge_cell", "parquet_plain_zeros", "parquet_gzip_zeros"])
def test_a_page_that_unfolds_to_too_much_is_not_read(name: str, tmp_path: Path, small_limits: None) -> None:
    rows, rejected, refusal = read_all(WRITERS[name](tmp_path, 75 * MB))
    assert not rows + rejected
    assert "a page of" in refusal
    assert "and is not read. Write the file again from its source." in refusal


def test_a_list_that_unfolds_to_too_many_numbers_is_not_read(tmp_path: Path, small_limits: None) -> None:
    _, _, refusal = read_all(WRITERS["parquet_long_list"](tmp_path, MB))
    assert "a page of 'extra_numbers.list.element' unfolds from" in refusal


def test_a_list_that_names_one_text_again_and_again_is_not_made(tmp_path: Path, small_limits: None) -> None:
    """One row whose list would take all memory, beside others that would not."""
    values = pa.DictionaryArray.from_arrays(pa.array([0] * 5000, pa.int32()), pa.array(["x" * (20 * KB)]))
    column = pa.ListArray.from_arrays(pa.array([0, 0, 5000], pa.int32()), values)
    pq.write_table(pa.table({"id": ["a", "b"], "list": column}), tmp_path / "a.parquet", store_schema=False)
    before = pa.total_allocated_bytes()
    rows, _, refusal = read_all(tmp_path / "a.parquet")
    assert [row.fields["id"] for row in rows] == ["a"]
    assert "unfold" in refusal
    assert pa.total_allocated_bytes() - before < 8 * MB


def test_a_row_over_the_limit_is_refused_and_the_others_are_read(tmp_path: Path, small_limits: None) -> None:
    pq.write_table(pa.table({"id": ["a", "b", "c"], "text": ["x", "y" * 2 * MB, "z"]}), tmp_path / "a.parquet")
    rows, rejected, refusal = read_all(tmp_path / "a.parquet")
    assert [row.fields["id"] for row in rows] == ["a", "c"]
    assert [(one.code, one.where.row) for one in rejected] == [("row.too_large", 1)]
    assert not refusal


def test_images_that_a_writer_put_into_a_dictionary_are_read(
    tmp_path: Path, small_limits: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pandas and `datasets` write them: a thousand values come before the writer looks at its dictionary."""
    monkeypatch.setattr(parquet, "MOST_TIMES", 2)
    images = [{"bytes": os.urandom(60_000), "path": None} for _ in range(200)]
    table = pa.table({"image": images, "texts": [[f"{number}", "same"] for number in range(200)]})
    pq.write_table(table, tmp_path / "a.parquet")
    rows, rejected, refusal = read_all(tmp_path / "a.parquet")
    assert (rejected, refusal) == ([], "")
    assert [row.fields for row in rows] == table.to_pylist()


def test_lists_that_are_read_as_dictionaries_keep_their_values_and_types(
    tmp_path: Path, small_limits: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["long " * 5000, "short"]
    table = pa.table({"texts": [[names[number % 2]] * (number % 7) for number in range(300)], "n": list(range(300))})
    pq.write_table(table, tmp_path / "a.parquet")
    monkeypatch.setattr(parquet, "UNFOLDED_BYTES", 100 * MB)
    plans = []
    plan = parquet._plan
    monkeypatch.setattr(parquet, "_plan", lambda *given: plans.append(plan(*given)) or plans[-1])
    rows, rejected, refusal = read_all(tmp_path / "a.parquet")
    assert plans[0].dictionaries == ("texts.list.element",)
    assert (rejected, refusal) == ([], "")
    assert [row.fields for row in rows] == table.to_pylist()
    assert next(parquet.read_batches(tmp_path / "a.parquet")).schema.field("texts").type == pa.list_(pa.string())


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_headers_of_pages_say_what_they_hold(version: str, dictionary: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"a": [f"value {number}" for number in range(5000)]})
    options = {"use_dictionary": dictionary, "data_page_version": version, "data_page_size": 4096}
    pq.write_table(table, path, write_batch_size=100, **options)
    chunk = pq.read_metadata(path).row_group(0).column(0)
    start = chunk.dictionary_page_offset if dictionary else chunk.data_page_offset
    with path.open("rb", buffering=0) as file:
        pages = list(list_pages(file, start, chunk.total_compressed_size, chunk.num_values))
        with pytest.raises(BadPageError):
            list(list_pages(file, start + 1, chunk.total_compressed_size, chunk.num_values))
    assert sum(page.values for page in pages if not page.dictionary) == 5000
    assert pages[0].dictionary == dictionary
    assert all(page.naming == (dictionary and not page.dictionary) for page in pages)
    assert sum(page.unfolded for page in pages) <= chunk.total_uncompressed_size


def test_rows_may_reach_into_several_pages() -> None:
    pages = [Page(False, 1, size, 3) for size in (1, 5, 7, 2)]
    assert [find_most_bytes(pages, rows, 0) for rows in (1, 2, 4, 5, 9)] == [7, 12, 12, 14, 15]


def test_a_hundred_thousand_rows_that_are_alike_are_read(tmp_path: Path) -> None:
    """Frameworks' answers of one word are packed hundredfold, and no bomb."""
    path, count = tmp_path / "a.parquet", 100_000
    table = pa.table({"id": pa.array(range(count)), "prediction": ["yes"] * count, "question": ["x" * 500] * count})
    pq.write_table(table, path, compression="zstd")
    assert path.stat().st_size * 100 < 50_000_000
    assert sum(batch.num_rows for batch in parquet.read_batches(path, most_rows=16_384, most_bytes=1 << 20)) == count
