"""What parts tell of how far they are."""

import json
import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmconvert.io import Span, Where
from mmconvert.pipeline import part_tally
from mmconvert.pipeline.convert import WriteOptions, convert
from mmconvert.pipeline.inputs import Input
from mmconvert.pipeline.part_tally import Tally, followed
from mmconvert.pipeline.parts import Part
from mmconvert.pipeline.read import ReadOptions


def part(path: Path, tally: Path | None, **more) -> Part:
    return Part(
        more.pop("index", 0), Input(path), more.pop("span", None), path.parent, ReadOptions(**more), tally=tally
    )


def told(file: Path, index: int = 0) -> tuple[int, int, float]:
    return struct.unpack_from("<qqd", file.read_bytes(), index * 24)


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(part_tally, "_SECONDS", 0.0)


def test_a_part_tells_rows_bytes_and_how_much_of_the_file_it_has_read(tmp_path, at_once):
    file, tally = tmp_path / "a.jsonl", tmp_path / "tally"
    file.write_bytes(b"x" * 1000)
    tally.touch()
    one = Tally(part(file, tally, index=1, span=Span(200, 600)))
    one.add(50, Where("a.jsonl", 7, 8, 300))
    assert told(tally, 1) == (1, 50, 100.0)
    one.close()
    assert told(tally, 1) == (1, 50, 400.0)


def test_parquet_goes_by_rows_and_a_limit_by_itself(tmp_path, at_once):
    file, tally = tmp_path / "a.parquet", tmp_path / "tally"
    pq.write_table(pa.table({"a": list(range(100))}), file, row_group_size=25)
    tally.touch()
    second = Tally(part(file, tally, span=Span(1, 2, 25)))
    second.add(1, Where("a.parquet", 30))
    size = file.stat().st_size
    assert told(tally)[2] == pytest.approx(size / 4 * 5 / 25, abs=1)
    limited = Tally(part(file, tally, limit=2))
    limited.add(1, Where("a.parquet", 0))
    assert told(tally)[2] == size / 2


def test_a_file_whose_rows_say_no_place_tells_when_it_is_done(tmp_path, at_once):
    file, tally = tmp_path / "a.json", tmp_path / "tally"
    file.write_bytes(b"[]" + b" " * 98)
    tally.touch()
    one = Tally(part(file, tally))
    one.add(5, Where("a.json", 50))
    assert told(tally) == (1, 5, 0.0)
    one.close()
    assert told(tally) == (1, 5, 100.0)


def test_a_tally_that_is_out_of_sight_stops_nobody(tmp_path, at_once):
    file = tmp_path / "a.jsonl"
    file.write_bytes(b"{}")
    for tally in (None, tmp_path / "elsewhere" / "tally"):
        one = Tally(part(file, tally))
        one.add(5, Where("a.jsonl", 0, 1, 0))
        one.close()


def test_all_processes_of_a_conversion_are_followed(tmp_path, monkeypatch):
    monkeypatch.setattr(part_tally, "_SECONDS", 0.01)
    inputs = []
    for name in "ab":
        rows = [
            {"id": f"{name}{n}", "messages": [{"role": "user", "content": "q?"}], "answer": "a"} for n in range(3000)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        inputs.append(Input(tmp_path / f"{name}.jsonl", split=name))
    seen: list[tuple[int, int, float | None]] = []
    how = ReadOptions(format="openai_messages")
    convert(inputs, tmp_path / "out", how, WriteOptions(workers=2), lambda *done: seen.append(done))
    assert seen == sorted(seen, key=lambda done: done[0])
    assert any(0 < rows < 6000 and 0 < share < 1 for rows, _, share in seen if share)


def test_nobody_is_told_where_nobody_asks():
    with followed([], None) as tally:
        assert tally is None


def test_no_room_for_a_tally_stops_no_conversion(monkeypatch):
    monkeypatch.setattr(part_tally.tempfile, "mkdtemp", lambda **_: "/nowhere/at/all")
    with followed([], lambda *done: None) as tally:
        assert tally is None


def test_a_tally_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(part_tally.tempfile, "tempdir", str(tmp_path))
    with followed([], lambda *done: None) as tally:
        assert tally.is_file()
    assert [*tmp_path.iterdir()] == []
