"""What is taken out of a video, in the process that does it: which frames, and which of its rights it gives up."""

import io
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import PIL.Image
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.images import frame_process
from mmconvert.images.frame_process import VideoError, choose_by_number, choose_by_rate, extract, find_container
from support.videos import STEP, make_video

REQUEST = {"frames": 4, "fps": None, "format": "PNG", "most_pixels": 1 << 24, "threads": 2}
KINDS = [
    ("a.mp4", "mpeg4", 0),
    ("b.mp4", "mpeg4", 2),
    ("c.mp4", "libx264", 2),
    ("a.mov", "mjpeg", 0),
    ("a.avi", "mpeg4", 0),
    ("b.avi", "mpeg4", 2),
    ("a.mkv", "mpeg4", 0),
    ("a.webm", "libvpx-vp9", 0),
    ("a.ts", "mpeg2video", 2),
    ("a.gif", "gif", 0),
]


def numbers_of(files: list[bytes]) -> list[int]:
    """Tell by its brightness which frame of `make_video` each is."""
    greys = [PIL.Image.open(io.BytesIO(data)).convert("L").resize((1, 1)).getpixel((0, 0)) for data in files]
    return [round(grey / STEP) for grey in greys]


def take(path: Path, **request: Any) -> tuple[dict[str, Any], list[bytes]]:
    with path.open("rb") as file:
        return extract(file, {**REQUEST, **request})


def test_a_release_of_pyav_without_encodings_of_texts_opens_videos(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_video(tmp_path / "a.mp4")
    opened = av.open

    def open_as_19(file: Any, *, format: str, container_options: dict[str, str], io_open: Any) -> Any:
        return opened(file, format=format, container_options=container_options, io_open=io_open)

    expected = take(tmp_path / "a.mp4")
    monkeypatch.setattr(av, "__version__", "19.0.2")
    monkeypatch.setattr(av, "open", open_as_19)
    assert take(tmp_path / "a.mp4") == expected


@pytest.mark.parametrize(("name", "codec", "later"), KINDS)
@pytest.mark.parametrize("gop", [5, 50])
def test_the_frames_are_those_of_vlmevalkits_rule(tmp_path: Path, name: str, codec: str, later: int, gop: int) -> None:
    video = make_video(tmp_path / name, codec=codec, later_frames=later, gop=gop)
    said, files = take(video)
    # i * 20 / 5 for i = 1 .. 4
    assert numbers_of(files) == [4, 8, 12, 16]
    assert said == {"times": [pytest.approx(k / 10) for k in (4, 8, 12, 16)], "asked": 4}
    said, files = take(video, frames=None, fps="2.5")
    assert numbers_of(files) == [0, 4, 8, 12, 16]
    assert said == {"times": [pytest.approx(k / 10) for k in (0, 4, 8, 12, 16)], "asked": 5}


def test_a_clip_is_a_piece_of_the_video_and_times_count_from_its_beginning(tmp_path: Path) -> None:
    video = make_video(tmp_path / "a.mp4")
    said, files = take(video, frames=2, start="0.5", end="1.0")
    assert (numbers_of(files), said["times"]) == ([7, 9], [pytest.approx(0.7), pytest.approx(0.9)])
    assert numbers_of(take(video, frames=None, fps="5", start="0.55", end="1.2")[1]) == [5, 7, 9, 11]
    assert numbers_of(take(video, frames=50, start="1.85")[1]) == [18, 19]
    assert numbers_of(take(video, frames=50, start="1.95")[1]) == [19]
    assert numbers_of(take(video, frames=50, end="0.1")[1]) == [0, 1]
    with pytest.raises(VideoError, match=r"the clip begins at 2\.1 seconds, and the video ends at 1\.9"):
        take(video, start="2.1")


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=60, unique=True), st.integers(1, 80))
def test_frames_by_number_are_so_many_in_order_and_none_twice(times: list[int], number: int) -> None:
    times.sort()
    found = choose_by_number(times, number)
    assert found == sorted(set(found))
    assert len(found) == min(number, len(times))
    assert {*found} <= {*times}


@given(
    st.lists(st.integers(0, 10_000), min_size=1, max_size=60, unique=True),
    st.fractions(Fraction(1, 100), 1),
    st.fractions(Fraction(1, 10), 5),
)
def test_frames_by_rate_are_those_shown_then(times: list[int], unit: Fraction, rate: Fraction) -> None:
    times.sort()
    try:
        found, asked = choose_by_rate(times, unit, rate)
    except VideoError:
        duration = (times[-1] - times[0]) * (1 + Fraction(1, max(len(times) - 1, 1))) * unit
        assert int(duration * rate) > frame_process.MOST_FRAMES
        return
    assert found == sorted(set(found))
    shown = [max(time for time in times if (time - times[0]) * unit <= i / rate) for i in range(asked)]
    assert found == list(dict.fromkeys(shown))


def test_a_long_video_at_a_high_rate_is_refused_with_what_to_type() -> None:
    with pytest.raises(
        VideoError, match=r"gives 1,001 frames, over the limit of 1,000\. Lower --fps, or give --frames 8"
    ):
        choose_by_rate(range(1001), Fraction(1), Fraction(1))
    assert len(choose_by_rate(range(1000), Fraction(1), Fraction(1))[0]) == 1000


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv"])
def test_sound_and_other_tracks_are_passed_over(tmp_path: Path, name: str) -> None:
    assert numbers_of(take(make_video(tmp_path / name, sound=True))[1]) == [4, 8, 12, 16]


def test_all_frames_are_found_where_the_index_leads_elsewhere(tmp_path: Path) -> None:
    video = make_video(tmp_path / "a.avi", frames=20, gop=5, codec="libx264")
    data = bytearray(video.read_bytes())
    index = data.index(b"idx1") + 8
    entries = [data[at : at + 16] for at in range(index, index + 20 * 16, 16)]
    # Each key frame is said to stand where the last one does.
    last = next(entry for entry in reversed(entries) if entry[4] & 16)
    for number, entry in enumerate(entries):
        if number and entry[4] & 16:
            data[index + number * 16 + 8 : index + number * 16 + 12] = last[8:12]
    video.write_bytes(data)
    said, files = take(video)
    assert numbers_of(files) == sorted({*numbers_of(files)})
    assert len(files) == len(said["times"]) > 0


def test_frames_come_from_the_beginning_where_no_key_frame_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    video = make_video(tmp_path / "a.mp4")
    by_keys = take(video)
    monkeypatch.setattr(frame_process._Video, "_decode_by_keys", lambda self, wanted: None)
    assert take(video) == by_keys


def test_a_key_frame_is_sought_and_not_all_is_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    video = make_video(tmp_path / "a.mp4", frames=200, gop=10)
    seen = []
    keep = frame_process._Video._find_frame
    monkeypatch.setattr(
        frame_process._Video,
        "_find_frame",
        lambda self, decoded, time: keep(self, (seen.append(frame) or frame for frame in decoded), time),
    )
    take(video, frames=2)
    assert len(seen) < 40


def test_a_video_that_lies_on_its_side_is_set_up(tmp_path: Path) -> None:
    video = make_video(tmp_path / "a.mp4", size=(64, 32), bright_left=True)
    data = video.read_bytes()
    at = data.index(b"tkhd") + 4 + 40
    upright, clockwise = ([0x10000, 0, 0, 0, 0x10000], [0, 0x10000, 0, 0xFFFF0000, 0])
    assert data[at : at + 20] == b"".join(n.to_bytes(4, "big") for n in upright)
    video.write_bytes(data[:at] + b"".join(n.to_bytes(4, "big") for n in clockwise) + data[at + 20 :])
    for file in take(video)[1]:
        image = PIL.Image.open(io.BytesIO(file)).convert("L")
        assert image.size == (32, 64)
        assert (image.getpixel((16, 8)) > 200, image.getpixel((16, 56)) < 50) == (True, True)


def test_program_streams_are_read(tmp_path: Path) -> None:
    said, files = take(make_video(tmp_path / "a.mpg", codec="mpeg2video", rate=25))
    assert numbers_of(files) == [4, 8, 12, 16]
    assert said["times"] == [pytest.approx(k / 25) for k in (4, 8, 12, 16)]


def test_frames_are_stored_as_asked_for(tmp_path: Path) -> None:
    video = make_video(tmp_path / "a.mp4")
    for format in ("JPEG", "PNG"):
        images = [PIL.Image.open(io.BytesIO(file)) for file in take(video, format=format)[1]]
        assert {(image.format, image.mode, image.size) for image in images} == {(format, "RGB", (32, 32))}


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n",
        b"ffconcat version 1.0\nfile /etc/passwd\n",
        b"<?xml version='1.0'?><MPD>",
        b"v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\n",
        b"1\n00:00:00,000 --> 00:00:01,000\nHello\n",
        b"[Script Info]\n",
        b"FLV\x01",
        b"OggS",
        b"\x89PNG\r\n\x1a\n",
    ],
)
def test_only_containers_that_hold_their_frames_are_opened(head: bytes) -> None:
    assert find_container(head) is None


def test_a_demuxer_that_opens_other_files_would_find_no_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_video(tmp_path / "secret.mp4")
    (tmp_path / "a.mp4").write_text(f"ffconcat version 1.0\nfile {tmp_path / 'secret.mp4'}\n")
    monkeypatch.setattr(frame_process, "find_container", lambda head: "concat")
    with pytest.raises((VideoError, OSError)):
        take(tmp_path / "a.mp4")


def test_the_process_may_open_nothing(tmp_path: Path) -> None:
    code = f"""
import os, socket, sys
sys.path.insert(0, {str(Path(frame_process.__file__).parent)!r})
import frame_process
frame_process.give_up_rights(1 << 30, 60)
opened = []
for attempt in (lambda: open({str(tmp_path / "new")!r}, "w"), lambda: open("/etc/passwd"), socket.socket, os.pipe):
    try:
        attempt()
        opened.append(attempt)
    except OSError:
        pass
try:
    bytearray(2 << 30)
    opened.append("memory")
except MemoryError:
    pass
print(opened)
"""
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert not (tmp_path / "new").exists()


def test_the_process_answers_a_line_and_the_frames(tmp_path: Path) -> None:
    request = {**REQUEST, "most_bytes": 2 << 30, "seconds": 60, "path": sys.path}
    with make_video(tmp_path / "a.mkv", sound=True).open("rb") as file:
        command = [sys.executable, "-I", frame_process.__file__, json.dumps(request)]
        done = subprocess.run(command, stdin=file, capture_output=True, check=True)
    line, _, files = done.stdout.partition(b"\n")
    said = json.loads(line)
    assert said["asked"] == 4
    assert sum(said["sizes"]) == len(files)
    assert [round(time * 10) for time in said["times"]] == [4, 8, 12, 16]
