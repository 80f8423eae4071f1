"""Videos of rows to come are read at the same time, and rows are what they are without."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from mmconvert.core.errors import Error, RowError
from mmconvert.core.rows import Row, Where
from mmconvert.dataset.manifest import MANIFEST
from mmconvert.images import loader
from mmconvert.images.frames_ahead import FramesAhead
from mmconvert.images.video import WHOLE, Clip, FrameSampling, VideoFrames, extract_frames
from mmconvert.pipeline.inputs import Input
from mmconvert.pipeline.read import ReadOptions, Records
from support.terminal import mmconvert
from support.videos import make_video

ROWS = [
    ("a.mp4", "Why?"),
    ("b.mp4", "How?"),
    ("none.mp4", "Where?"),
    ("b.mp4", "When?"),
    ("cut.mp4", "Who?"),
    ("../out.mp4", "What?"),
    ("a.mp4", "<video 2>?"),
    ("c.mp4", "And?"),
    ("c.mp4", "Or?"),
]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    for number, name in enumerate("abc"):
        make_video(tmp_path / f"{name}.mp4", frames=10 + number)
    (tmp_path / "cut.mp4").write_bytes((tmp_path / "a.mp4").read_bytes()[:900])
    path = tmp_path / "t.jsonl"
    lines = (json.dumps({"video": video, "question": text, "answer": "x"}) + "\n" for video, text in ROWS)
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_any_number_of_workers_gives_the_same_records_and_refusals(table: Path) -> None:
    def read(workers: int) -> Any:
        records = Records(Input(table), ReadOptions(frames=2, video_workers=workers))
        return list(records), records.rejects, records.warnings

    alone = read(1)
    assert [len(record.images) for record in alone[0]] == [2] * 5
    assert [reject.code for reject in alone[1]][:3] == ["video.missing", "video.decode", "video.path"]
    for workers in (2, 8):
        assert read(workers) == alone


def test_datasets_are_the_same_bytes(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for workers in ("1", "3"):
        arguments = ["--frames", "2", "--workers", workers, "--quiet"]
        assert mmconvert("convert", table, "-o", f"out{workers}", *arguments).code == 3
    files = [sorted(Path(f"out{workers}").glob("data/*.parquet")) for workers in "13"]
    assert [[file.read_bytes() for file in found] for found in files[:1]] == [[f.read_bytes() for f in files[1]]]
    first, second = (json.loads(Path(f"out{workers}", MANIFEST).read_text())["options"] for workers in "13")
    assert first == second


def test_videos_are_read_at_the_same_time_and_once(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Waits until another video is being read as well; alone it would fail.
    together, read = threading.Barrier(2, timeout=60), list[int]()

    def wait(handle: int, sampling: FrameSampling, clip: Clip) -> VideoFrames:
        read.append(handle)
        if len(read) <= 2:
            together.wait()
        return extract_frames(handle, sampling, clip)

    monkeypatch.setattr(loader, "extract_frames", wait)
    lines = table.read_text().splitlines()[:2]
    table.write_text("\n".join(lines * 3), encoding="utf-8")
    assert len(list(Records(Input(table), ReadOptions(frames=2, video_workers=2)))) == 6
    assert len(read) == 2


def test_what_is_ahead_is_bounded_and_a_fault_comes_behind_the_rows_before_it() -> None:
    drawn: list[int] = []

    def rows() -> Any:
        for number in range(100):
            drawn.append(number)
            yield Row({"text": "x" * (30 << 20 if number > 50 else 1)}, Where("t", number))
        raise Error("the file was cut")

    ahead = FramesAhead(2)
    given = ahead.look_ahead(rows(), lambda row: None)
    assert next(given).where.row == 0
    assert len(drawn) <= 16
    assert [next(given).where.row for _ in range(60)] == [*range(1, 61)]
    assert len(drawn) <= 64
    assert [next(given).where.row for _ in range(39)][-1] == 99
    with pytest.raises(Error, match="the file was cut"):
        next(given)


def test_a_video_is_given_to_each_row_that_asked_and_a_refusal_anew() -> None:
    ahead = FramesAhead(1)

    def refuse() -> Any:
        raise RowError("video.decode", "", "damaged.")

    errors = []
    for text in ahead.look_ahead(("a", "a", "b"), lambda row: ahead.ask(row, WHOLE, refuse)):
        with pytest.raises(RowError, match="damaged") as caught:
            ahead.take(text, WHOLE)
        errors.append(caught.value)
    assert len({id(error) for error in errors}) == 3
    assert ahead.take("a", WHOLE) is None
    assert ahead.take("b", WHOLE) is None
    assert ahead.take("b", Clip(1.0)) is None


def test_videos_of_rows_that_never_take_them_are_let_go() -> None:
    ahead = FramesAhead(1)
    rows = [f"{number}" for number in range(20)]
    assert list(ahead.look_ahead(rows, lambda row: ahead.ask(row, WHOLE, lambda: None))) == rows
    assert ahead._asked == {}


def test_rows_that_are_refused_before_their_videos_are_read_end(tmp_path: Path) -> None:
    make_video(tmp_path / "one.mp4", 3)
    rows = [f"{number}.mp4,bad\x01,x" for number in range(12)]
    for number in range(12):
        make_video(tmp_path / f"{number}.mp4", 3)
    (tmp_path / "a.csv").write_text("\n".join(["video,question,answer", *rows, "one.mp4,good,x"]) + "\n")
    command = [sys.executable, "-m", "mmconvert", "convert", "a.csv", "-o", "out", "--frames", "2", "--workers", "2"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert ended.returncode == 3, ended.stderr
    assert "text.control" in (tmp_path / "out.rejects.jsonl").read_text()
