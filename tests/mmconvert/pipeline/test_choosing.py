"""`--where` and `--sample` of convert, export and preview: which rows, counted, the same for any way of running."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import mmconvert
from mmconvert.core.errors import Error, UsageError
from mmconvert.core.record import Record
from mmconvert.pipeline.sampling import hash_text

ROWS = 500


def _write(path: Path, name: str, rows: int = ROWS) -> Path:
    file = path / f"{name}.jsonl"
    turns = [{"role": "user", "content": "What?"}]
    lines = [
        {"id": f"{name}{i}", "messages": [*turns, {"role": "assistant", "content": f"{i % 7}"}]} for i in range(rows)
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def _list_rows(dataset: Path) -> list[tuple[str, int]]:
    files = sorted(dataset.rglob("*.parquet"))
    return [(row["file"], row["row"]) for file in files for row in pq.read_table(file)["source"].to_pylist()]


def _draw(rows: list[tuple[str, int]], count: int, seed: int) -> list[tuple[str, int]]:
    """Draw rows the slow way."""
    drawn = sorted(rows, key=lambda row: hash_text(f"{seed} {row[0][0]}-{row[0]} {row[1]}"))[:count]
    return [row for row in rows if row in drawn]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return [_write(tmp_path, "a"), _write(tmp_path, "b")]


def test_where_keeps_the_rows_that_match_and_counts_the_others(files: list[Path], tmp_path: Path) -> None:
    done = mmconvert.convert(files, tmp_path / "out", where="messages contains '3' and source.row < 100")
    assert _list_rows(tmp_path / "out") == [(f.name, i) for f in files for i in range(100) if i % 7 == 3]
    assert (done.rows_read, done.rows_written, done.rows_unmatched) == (2 * ROWS, 28, 2 * ROWS - 28)
    manifest = json.loads((tmp_path / "out" / ".mmconvert" / "manifest.json").read_text())
    assert manifest["options"]["where"] == "messages contains '3' and source.row < 100"


def test_no_matching_row_is_an_error(files: list[Path], tmp_path: Path) -> None:
    with pytest.raises(Error, match="none of 1,000 rows matches where 'width > 3'"):
        mmconvert.convert(files, tmp_path / "out", where="width > 3")
    mmconvert.convert(files, tmp_path / "out")
    with pytest.raises(Error, match="none of 1,000 rows matches where"):
        mmconvert.export(tmp_path / "out", tmp_path / "x.jsonl", to="openai_messages", where="width > 3")
    assert not (tmp_path / "x.jsonl").exists()


def test_a_wrong_condition_is_told_before_anything_is_written(files: list[Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="character 1: no column 'tusk'"):
        mmconvert.convert(files, tmp_path / "out", where="tusk = 'vqa'")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("seed", [0, 5])
def test_sample_draws_the_rows_with_the_smallest_hashes(files: list[Path], tmp_path: Path, seed: int) -> None:
    all_rows = [(file.name, row) for file in files for row in range(ROWS)]
    done = mmconvert.convert(files, tmp_path / "out", sample=60, seed=seed)
    assert _list_rows(tmp_path / "out") == _draw(all_rows, 60, seed)
    assert (done.rows_read, done.rows_undrawn) == (60, 2 * ROWS - 60)
    # A larger sample holds the smaller one.
    mmconvert.convert(files, tmp_path / "more", sample=90, seed=seed)
    assert set(_list_rows(tmp_path / "out")) < set(_list_rows(tmp_path / "more"))


def test_sample_draws_of_the_rows_that_match(files: list[Path], tmp_path: Path) -> None:
    matching = [(file.name, row) for file in files for row in range(ROWS) if row % 7 == 3]
    mmconvert.convert(files, tmp_path / "out", sample=20, where="messages contains '3'", workers=2)
    assert _list_rows(tmp_path / "out") == _draw(matching, 20, 0)


def test_invalid_rows_are_drawn_and_listed(tmp_path: Path) -> None:
    file = _write(tmp_path, "a", 50)
    file.write_text(file.read_text() + "{}\n" * 50)
    done = mmconvert.convert(file, tmp_path / "out", sample=40)
    assert done.rows_written + done.rows_rejected == 40
    assert done.rows_written
    assert done.rows_rejected


def test_export_and_preview_of_a_dataset_draw_by_its_rows(files: list[Path], tmp_path: Path) -> None:
    mmconvert.convert(files, tmp_path / "d", workers=1)
    options: dict[str, Any] = {"sample": 12, "seed": 2}
    done = mmconvert.export(tmp_path / "d", tmp_path / "x.jsonl", to="openai_messages", **options)
    assert (done.rows_written, done.rows_undrawn) == (12, 2 * ROWS - 12)
    again = mmconvert.export(tmp_path / "d", tmp_path / "y.jsonl", to="openai_messages", **options)
    assert (tmp_path / "x.jsonl").read_bytes() == (tmp_path / "y.jsonl").read_bytes()
    assert again.rows_written == 12
    shown = mmconvert.preview(tmp_path / "d", tmp_path / "p.html", rows=5, **options)
    assert (shown.records, shown.undrawn) == (12, 2 * ROWS - 12)
    ids = {json.loads(line)["id"] for line in (tmp_path / "x.jsonl").read_text().splitlines()}
    assert {item.id for item in shown.first} <= ids


def test_export_writes_the_rows_that_match(files: list[Path], tmp_path: Path) -> None:
    mmconvert.convert(files, tmp_path / "d")
    done = mmconvert.export(tmp_path / "d", tmp_path / "x.jsonl", to="openai_messages", where="source.row = 7")
    records: list[Record] = list(mmconvert.open_dataset(tmp_path / "d").records())
    wanted = [record.id for record in records if record.source.row == 7]
    assert [json.loads(line)["id"] for line in (tmp_path / "x.jsonl").read_text().splitlines()] == wanted
    assert (done.rows_written, done.rows_unmatched) == (2, 2 * ROWS - 2)
