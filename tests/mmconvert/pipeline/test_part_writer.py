"""What the writing thread promises: order, few waiting calls, errors that come out."""

import json
import struct
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmconvert.core.rows import Span, Where
from mmconvert.pipeline import part_writer
from mmconvert.pipeline.convert import WriteOptions, convert
from mmconvert.pipeline.inputs import Input
from mmconvert.pipeline.part_writer import WAITING, Tally, WritingThread, follow_progress
from mmconvert.pipeline.read import ReadOptions


def test_calls_are_done_in_order_in_one_other_thread() -> None:
    done: list[tuple[int, int]] = []
    with WritingThread() as thread:
        for number in range(20):
            thread.submit(lambda number=number: done.append((number, threading.get_ident())))
    assert [number for number, _ in done] == [*range(20)]
    assert len({who for _, who in done}) == 1
    assert done[0][1] != threading.get_ident()


def test_few_calls_wait() -> None:
    gate, handed = threading.Event(), []

    def hand_over(thread: WritingThread) -> None:
        for number in range(WAITING + 1):
            thread.submit(gate.wait)
            handed.append(number)

    with WritingThread() as thread:
        other = threading.Thread(target=hand_over, args=(thread,))
        other.start()
        other.join(0.3)
        before = [*handed]
        gate.set()
        other.join()
    assert before == [*range(WAITING)]
    assert handed == [*range(WAITING + 1)]


def test_an_error_of_a_call_is_raised_where_it_is_waited_for() -> None:
    with pytest.raises(ZeroDivisionError), WritingThread() as thread:
        thread.submit(lambda: 1 // 0)


def test_an_error_of_the_reader_drops_what_waits() -> None:
    done: list[int] = []
    gate = threading.Event()

    def read() -> None:
        with WritingThread() as thread:
            thread.submit(gate.wait)
            thread.submit(done.append, 1)
            threading.Timer(0.2, gate.set).start()
            raise KeyError

    with pytest.raises(KeyError):
        read()
    assert done == []


def test_a_call_in_the_caller_s_own_thread_waits_for_those_before() -> None:
    done: list[tuple[int, int]] = []
    with WritingThread() as thread:
        for number in range(3):
            thread.submit(lambda number=number: (time.sleep(0.01), done.append((number, threading.get_ident()))))
        result = thread.submit(lambda: done.append((3, threading.get_ident())) or "done", here=True)
        assert (result.done(), result.result()) == (True, "done")
        thread.submit(lambda: done.append((4, threading.get_ident())))
    assert [number for number, _ in done] == [*range(5)]
    assert [who == threading.get_ident() for _, who in done] == [False, False, False, True, False]


def tally_of(
    path: Path, file: Path | None, index: int = 0, span: Span | None = None, limit: int | None = None
) -> Tally:
    return Tally(file, index, path, span, limit)


def told(file: Path, index: int = 0) -> tuple[int, int, float]:
    return struct.unpack_from("<qqd", file.read_bytes(), index * 24)


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(part_writer, "_SECONDS", 0.0)


def test_a_part_tells_rows_bytes_and_how_much_of_the_file_it_has_read(tmp_path, at_once):
    file, tally = tmp_path / "a.jsonl", tmp_path / "tally"
    file.write_bytes(b"x" * 1000)
    tally.touch()
    one = tally_of(file, tally, index=1, span=Span(200, 600))
    one.add(50, Where("a.jsonl", 7, 8, 300))
    assert told(tally, 1) == (1, 50, 100.0)
    one.close()
    assert told(tally, 1) == (1, 50, 400.0)


def test_parquet_goes_by_rows_and_a_limit_by_itself(tmp_path, at_once):
    file, tally = tmp_path / "a.parquet", tmp_path / "tally"
    pq.write_table(pa.table({"a": list(range(100))}), file, row_group_size=25)
    tally.touch()
    second = tally_of(file, tally, span=Span(1, 2, 25))
    second.add(1, Where("a.parquet", 30))
    size = file.stat().st_size
    assert told(tally)[2] == pytest.approx(size / 4 * 5 / 25, abs=1)
    limited = tally_of(file, tally, limit=2)
    limited.add(1, Where("a.parquet", 0))
    assert told(tally)[2] == size / 2


def test_a_file_whose_rows_say_no_place_tells_when_it_is_done(tmp_path, at_once):
    file, tally = tmp_path / "a.json", tmp_path / "tally"
    file.write_bytes(b"[]" + b" " * 98)
    tally.touch()
    one = tally_of(file, tally)
    one.add(5, Where("a.json", 50))
    assert told(tally) == (1, 5, 0.0)
    one.close()
    assert told(tally) == (1, 5, 100.0)


def test_a_tally_that_is_out_of_sight_stops_nobody(tmp_path, at_once):
    file = tmp_path / "a.jsonl"
    file.write_bytes(b"{}")
    for tally in (None, tmp_path / "elsewhere" / "tally"):
        one = tally_of(file, tally)
        one.add(5, Where("a.jsonl", 0, 1, 0))
        one.close()


@pytest.mark.slow
def test_all_processes_of_a_conversion_are_followed(tmp_path, monkeypatch):
    monkeypatch.setattr(part_writer, "_SECONDS", 0.01)
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
    with follow_progress([], None) as tally:
        assert tally is None


def test_no_room_for_a_tally_stops_no_conversion(monkeypatch):
    monkeypatch.setattr(part_writer.tempfile, "mkdtemp", lambda **_: "/nowhere/at/all")
    with follow_progress([], lambda *done: None) as tally:
        assert tally is None


def test_a_tally_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(part_writer.tempfile, "tempdir", str(tmp_path))
    with follow_progress([], lambda *done: None) as tally:
        assert tally.is_file()
    assert [*tmp_path.iterdir()] == []
