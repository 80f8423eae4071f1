"""Videos as a row names them: their frames, or the reason why there are none, whatever stands in the file."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mmconvert.core.errors import RowError, UsageError
from mmconvert.images import loader, video
from mmconvert.images.loader import ImageLoader
from mmconvert.images.video import Clip, FrameSampling, build_sampling, extract_frames
from mmconvert.storage.source_files import ChangedError, watch_sources
from support.deferred import defer
from support.videos import make_video
from support.web_server import reply, web_server

FOUR = FrameSampling(frames=4)


def within(folder: Path, sampling: FrameSampling | None = FOUR, **options: Any) -> ImageLoader:
    return ImageLoader.within([folder], sampling=sampling, **options)


def refused(folder: Path, value: Any, sampling: FrameSampling | None = FOUR) -> tuple[str, str]:
    with pytest.raises(RowError) as caught:
        within(folder, sampling).of_video(value, 1)
    return caught.value.code, caught.value.message


def outcome(folder: Path, name: str) -> str:
    try:
        return "frames" if 1 <= len(within(folder).of_video(name, 1)[0]) <= 4 else "none"
    except RowError as error:
        return error.code


def test_frames_say_when_they_are_shown_and_of_which_video_they_are(tmp_path: Path) -> None:
    make_video(tmp_path / "clips/a.mp4")
    frames, asked = within(tmp_path).of_video("clips/a.mp4", 3)
    assert asked == 4
    assert [(f.slot, f.name, f.source_name, f.time) for f in frames] == [
        (3, None, "clips/a.mp4", 0.4),
        (4, None, "clips/a.mp4", 0.8),
        (5, None, "clips/a.mp4", 1.2),
        (6, None, "clips/a.mp4", 1.6),
    ]
    assert {(f.format, f.width, f.height) for f in frames} == {("JPEG", 32, 32)}


@pytest.mark.parametrize("format", ["jpeg", "png"])
def test_two_runs_give_the_same_bytes(tmp_path: Path, format: str) -> None:
    make_video(tmp_path / "a.mp4", codec="libx264", later_frames=2)
    one, other = (within(tmp_path, FrameSampling(fps=2.5, format=format)).of_video("a.mp4", 1) for _ in range(2))
    assert one == other
    assert [frame.bytes for frame in one[0]]


def test_a_video_may_be_an_object_or_bytes(tmp_path: Path) -> None:
    data = make_video(tmp_path / "a.mp4").read_bytes()
    named = within(tmp_path).of_video("a.mp4", 1)[0]
    for value in ({"path": "a.mp4", "bytes": None}, {"url": "a.mp4"}):
        assert within(tmp_path).of_video(value, 1)[0] == named
    inline = within(tmp_path).of_video({"bytes": data, "path": "elsewhere.mp4"}, 1)[0]
    assert [frame.bytes for frame in inline] == [frame.bytes for frame in named]
    assert {frame.source_name for frame in inline} == {None}


def test_fewer_frames_are_given_than_were_asked_for(tmp_path: Path) -> None:
    make_video(tmp_path / "a.mp4", frames=3)
    frames, asked = within(tmp_path).of_video("a.mp4", 1)
    assert ([frame.time for frame in frames], asked) == ([0.0, 0.1, 0.2], 4)


def test_a_video_of_several_rows_is_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_video(tmp_path / "a.mp4")
    (tmp_path / "b.mp4").write_bytes(b"no video")
    taken = []
    monkeypatch.setattr(loader, "extract_frames", lambda *given: taken.append(given) or extract_frames(*given))
    images = within(tmp_path)
    first, later = images.of_video("a.mp4", 1)[0], images.of_video("a.mp4", 7)[0]
    assert [frame.bytes for frame in first] == [frame.bytes for frame in later]
    assert [frame.slot for frame in later] == [7, 8, 9, 10]
    assert len(taken) == 1
    messages = set()
    for _ in range(3):
        with pytest.raises(RowError) as caught:
            images.of_video("b.mp4", 1)
        messages.add((caught.value.code, caught.value.message))
    assert (len(taken), len(messages)) == (2, 1)
    make_video(tmp_path / "a.mp4", frames=8)
    assert len(images.of_video("a.mp4", 1)[0]) == 4
    assert len(taken) == 3


# What a path may be


def test_a_video_lies_in_the_image_root(tmp_path: Path) -> None:
    root = tmp_path / "in"
    make_video(tmp_path / "out.mp4")
    make_video(root / "a.mp4")
    (root / "link.mp4").symlink_to(tmp_path / "out.mp4")
    (root / "inner.mp4").symlink_to(root / "a.mp4")
    os.mkfifo(root / "pipe.mp4")
    for name in ("../out.mp4", "link.mp4", "pipe.mp4", str(tmp_path / "out.mp4"), "/etc/passwd", "~/a.mp4", ""):
        assert refused(root, name)[0] == "video.path", name
    assert refused(root, "a\\b")[0] == "video.missing"
    assert refused(root, "none.mp4")[0] == "video.missing"
    assert len(within(root).of_video("inner.mp4", 1)[0]) == 4
    assert len(within(root).of_video(str(root / "a.mp4"), 1)[0]) == 4


@pytest.mark.parametrize("url", ["http://127.0.0.1/a.mp4", "file:///etc/passwd", "data:video/mp4;base64,AAAA"])
def test_an_address_is_no_video(tmp_path: Path, url: str) -> None:
    assert refused(tmp_path, url)[0] == "video.remote"


@pytest.mark.parametrize("value", [3, None, {}, ["a.mp4"], {"path": 3}])
def test_other_values_are_no_video(tmp_path: Path, value: Any) -> None:
    assert refused(tmp_path, value)[0] == "video.type"


def test_without_a_number_of_frames_the_message_says_what_to_type(tmp_path: Path) -> None:
    make_video(tmp_path / "a.mp4")
    code, message = refused(tmp_path, "a.mp4", None)
    assert code == "media.unsupported"
    assert message.endswith("--frames 8")


def test_a_video_that_changes_while_it_is_read_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = make_video(tmp_path / "a.mp4")

    def grow(handle: int, sampling: FrameSampling, clip: Clip) -> Any:
        found = extract_frames(handle, sampling, clip)
        file.write_bytes(file.read_bytes() + b"more")
        return found

    monkeypatch.setattr(loader, "extract_frames", grow)
    with watch_sources(), pytest.raises(ChangedError, match=r"a\.mp4: changed while it was read"):
        within(tmp_path).of_video("a.mp4", 1)


# Hostile files


PLAYLISTS = {
    "playlist": "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n{url}\n#EXTINF:10,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n",
    "concat": "ffconcat version 1.0\nfile {url}\nfile /etc/passwd\n",
    "dash": '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><Period><AdaptationSet>'
    "<Representation><BaseURL>{url}</BaseURL></Representation></AdaptationSet></Period></MPD>",
    "sdp": "v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=video 9 RTP/AVP 96\n",
    "subtitles": "[Script Info]\n[Events]\nDialogue: 0,0:00:00.00,0:00:01.00,Default,,0,0,0,,{url}\n",
    "substation": "1\n00:00:00,000 --> 00:00:01,000\n{url}\n",
    "image sequence": "{url}%03d.png\n",
}


@pytest.mark.parametrize("kind", defer(PLAYLISTS, 3))
@pytest.mark.parametrize("suffix", defer([".mp4", ".m3u8", ".ffconcat"], 2))
def test_a_file_that_names_others_opens_none_of_them(tmp_path: Path, kind: str, suffix: str) -> None:
    video_file = make_video(tmp_path / "a.mp4").read_bytes()
    with web_server({"/a.mp4": reply(video_file)}) as server:
        text = PLAYLISTS[kind].format(url=f"http://127.0.0.1:{server.port}/a.mp4")
        (tmp_path / f"list{suffix}").write_text(text)
        code, message = refused(tmp_path, f"list{suffix}")
        assert code == "video.decode"
        assert "root:" not in message
        assert server.requests == []


def _cut(data: bytes, share: float) -> bytes:
    return data[: int(len(data) * share)]


@pytest.mark.parametrize("name", ["a.mp4", "a.avi", "a.mkv", "a.webm"])
@pytest.mark.parametrize("share", defer([0.3, 0.0, 0.6], 1))
def test_a_video_that_is_cut_is_refused(tmp_path: Path, name: str, share: float) -> None:
    made = make_video(tmp_path / name, codec="libvpx" if name == "a.webm" else "mpeg4", frames=60)
    made.write_bytes(_cut(made.read_bytes(), share))
    assert refused(tmp_path, name)[0] == "video.decode"


def test_a_moving_header_at_the_beginning_does_not_hide_the_cut(tmp_path: Path) -> None:
    import av

    with av.open(str(tmp_path / "a.mp4"), "w", options={"movflags": "faststart"}) as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width = stream.height = 32
        for _ in range(40):
            container.mux(stream.encode(av.VideoFrame(32, 32, "yuv420p")))
        container.mux(stream.encode())
    data = (tmp_path / "a.mp4").read_bytes()
    (tmp_path / "a.mp4").write_bytes(_cut(data, 0.9))
    code, message = refused(tmp_path, "a.mp4")
    assert code == "video.decode"
    assert "of 40 frames" in message


def _patch(data: bytes, after: bytes, skip: int, value: bytes) -> bytes:
    at = data.index(after) + len(after) + skip
    return data[:at] + value + data[at + len(value) :]


ABSURD = {
    "pixels": lambda data: _patch(data, b"mp4v", 24, b"\xff\xff\xff\xff"),
    "frames": lambda data: _patch(data, b"stsz", 8, (1_000_000_000).to_bytes(4, "big")),
    "times": lambda data: _patch(data, b"stts", 12, (0x7FFFFFFF).to_bytes(4, "big")),
    "ticks": lambda data: _patch(data, b"mdhd", 12, (1).to_bytes(4, "big")),
    "no ticks": lambda data: _patch(data, b"mdhd", 12, (0).to_bytes(4, "big")),
    "codec": lambda data: data.replace(b"mp4v", b"tscc"),
}


@pytest.mark.parametrize("kind", defer(ABSURD, 2))
def test_absurd_claims_end_as_a_refused_row_or_as_the_frames_that_are_there(tmp_path: Path, kind: str) -> None:
    made = make_video(tmp_path / "a.mp4", frames=30)
    made.write_bytes(ABSURD[kind](made.read_bytes()))
    started = time.monotonic()
    assert outcome(tmp_path, "a.mp4") in ("frames", "video.decode", "video.too_large")
    assert time.monotonic() - started < 20


def test_more_pixels_than_an_image_may_have_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_video(tmp_path / "a.mp4")
    monkeypatch.setattr(video, "MAX_PIXELS", 32 * 32 - 1)
    code, message = refused(tmp_path, "a.mp4")
    assert (code, "32 x 32 pixels; the limit is 1,023" in message) == ("video.too_large", True)


def test_more_bytes_than_a_video_may_have_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_video(tmp_path / "a.mp4")
    monkeypatch.setattr(loader, "MOST_VIDEO_BYTES", 100)
    assert refused(tmp_path, "a.mp4")[0] == "video.too_large"


def test_a_video_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_video(tmp_path / "a.mp4")
    monkeypatch.setattr(video, "SECONDS", 0.01)
    code, message = refused(tmp_path, "a.mp4")
    assert (code, "more than 0.01 seconds" in message) == ("video.timeout", True)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no limit of memory")
@pytest.mark.release
def test_a_video_that_takes_too_much_memory_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_video(tmp_path / "a.mp4", frames=2, size=(4096, 4096))
    monkeypatch.setattr(video, "MOST_BYTES", 520 << 20)
    assert refused(tmp_path, "a.mp4")[0] in ("video.too_large", "video.decode")
    monkeypatch.undo()
    assert len(within(tmp_path).of_video("a.mp4", 1)[0]) == 2


def test_a_process_that_breaks_down_or_talks_nonsense_costs_the_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_video(tmp_path / "a.mp4")
    for code in (
        "import os; os.abort()",
        "print('nonsense')",
        "print('[]')",
        'print(\'{"times": [1], "sizes": [5], "asked": 1}\')',
        'print(\'{"code": "x", "message": 1}\')',
    ):
        script = tmp_path / "script.py"
        script.write_text(code)
        monkeypatch.setattr(video.frame_process, "__file__", str(script))
        assert refused(tmp_path, "a.mp4") == (
            "video.decode",
            "the decoder of the video broke down. Save the video again.",
        )


def test_the_process_is_told_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_video(tmp_path / "a.mp4")
    script = tmp_path / "script.py"
    script.write_text("import json, os; print(json.dumps({'code': 'video.decode', 'message': ' '.join(os.environ)}))")
    monkeypatch.setenv("HF_TOKEN", "secret")
    monkeypatch.setattr(video.frame_process, "__file__", str(script))
    names = refused(tmp_path, "a.mp4")[1].split()
    assert "PATH" in names
    assert "HF_TOKEN" not in names


@pytest.mark.release
def test_damaged_bytes_never_cost_more_than_the_row(tmp_path: Path) -> None:
    draw = random.Random(7)
    kinds = [("a.mp4", "mpeg4"), ("a.avi", "mpeg4"), ("a.mkv", "libx264"), ("a.ts", "libx264"), ("a.gif", "gif")]
    for name, codec in kinds:
        data = make_video(tmp_path / name, codec=codec).read_bytes()
        for _ in range(2):
            damaged = bytearray(data)
            for _ in range(8):
                damaged[draw.randrange(len(data))] = draw.randrange(256)
            (tmp_path / name).write_bytes(damaged)
            assert outcome(tmp_path, name) in ("frames", "video.decode", "video.too_large")


def test_the_main_process_loads_no_decoder(tmp_path: Path) -> None:
    make_video(tmp_path / "a.mp4")
    code = (
        "import sys; from mmconvert.images.loader import Pictures; from mmconvert.images.video import FrameSampling\n"
        f"frames, _ = Pictures.within([{str(tmp_path)!r}], sampling=FrameSampling(4)).of_video('a.mp4', 1)\n"
        "print(len(frames), 'av' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "4 False\n"


# Options


def test_options_that_exclude_each_other_or_are_out_of_range_are_refused() -> None:
    assert build_sampling(None, None, "jpeg") is None
    assert build_sampling(8, None, "png") == FrameSampling(8, None, "png")
    for frames, fps, format in ((8, 1.0, "jpeg"), (0, None, "jpeg"), (1001, None, "jpeg"), (8, None, "gif")):
        with pytest.raises(UsageError):
            build_sampling(frames, fps, format)
    for fps in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(UsageError, match="--fps"):
            build_sampling(None, fps, "jpeg")


def test_without_pyav_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(video.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r'pip install "mmconvert\[video\]"'):
        build_sampling(8, None, "jpeg")


def test_a_folder_called_av_is_not_pyav(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "av").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "av", raising=False)
    with pytest.raises(UsageError, match="need the package av"):
        build_sampling(8, None, "jpeg")
