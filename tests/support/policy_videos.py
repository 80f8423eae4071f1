"""Videos, good and bad, that show what the page on bad input says of them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.policy_files import Proof, lines
from support.videos import make_video

_ASK = {"question": "<video 1> Which?", "options": ["red", "blue"], "answer": "A"}
_FOUR = ("--frames", "4")


def _cut(path: Path) -> None:
    make_video(path)
    path.write_bytes(path.read_bytes()[:-400])


def _asked(
    quote: str, videos: Mapping[str, Any], values: Sequence[Any], codes: Sequence[str | None], **more: Any
) -> Proof:
    """Ask about a good video, then about others."""
    rows = [{**_ASK, "video_1": value} for value in ("good.mp4", *values)]
    refused = {number: code for number, code in enumerate(codes, 1) if code is not None}
    files = {"a.jsonl": lines(*rows), "good.mp4": make_video, **videos}
    return Proof(quote, files, "vmcq", refused, more.pop("options", _FOUR), **more)


KINDS = ("a.mp4", "a.mov", "a.mkv", "a.avi", "a.ts")

VIDEO_PROOFS = [
    Proof(
        "A video makes its row invalid (`media.unsupported`) unless `--frames N` or `--fps R` selects its frames",
        {"a.jsonl": lines({**_ASK, "video_1": None, "question": "Which?"}, {**_ASK, "video_1": "good.mp4"})},
        "vmcq",
        {1: "media.unsupported"},
    ),
    _asked(
        "MP4, MOV, Matroska, WebM, AVI, MPEG and GIF are read, detected by their first bytes",
        {
            **dict.fromkeys(KINDS, make_video),
            "a.webm": lambda path: make_video(path, codec="libvpx"),
            "a.gif": lambda path: make_video(path, codec="gif"),
        },
        [*KINDS, "a.webm", "a.gif"],
        [],
    ),
    _asked(
        "What is cut, damaged or holds no frame is invalid (`video.decode`), and so is everything that names other "
        "files: playlists, lists of files, subtitles",
        {
            "cut.mp4": _cut,
            "empty.mp4": b"",
            "list.m3u8": b"#EXTM3U\n#EXTINF:1,\ngood.mp4\n",
            "list.mp4": b"ffconcat version 1.0\nfile good.mp4\n",
            "a.srt": b"1\n00:00:00,000 --> 00:00:01,000\nHi\n",
        },
        ["cut.mp4", "empty.mp4", "list.m3u8", "list.mp4", "a.srt"],
        ["video.decode"] * 5,
    ),
    _asked(
        "A video is a path inside an image root (`video.path`, `video.missing`) or bytes (`video.type` for anything "
        "else)",
        {"link.mp4": lambda path: path.symlink_to("../out.mp4")},
        ["../out.png", "/etc/hostname", "pipe", "none.mp4", {"path": "good.mp4"}],
        ["video.path", "video.path", "video.path", "video.missing"],
    ),
    Proof(
        "bytes (`video.type` for anything else)",
        {
            "a.json": json.dumps(
                [
                    {"messages": [{"role": "user", "content": "<video>Q"}], "videos": [value]}
                    for value in ("good.mp4", 3)
                ]
            ).encode(),
            "good.mp4": make_video,
        },
        "sharegpt",
        {1: "video.type"},
        _FOUR,
    ),
    _asked("a URL is never fetched (`video.remote`)", {}, ["http://127.0.0.1:9/a.mp4"], ["video.remote"]),
    _asked(
        "and gives 1,000 frames at most (`video.too_large`)",
        {"short.mp4": lambda path: make_video(path, frames=5), "long.mp4": lambda path: make_video(path, frames=30)},
        ["short.mp4", "long.mp4"],
        [None, "video.too_large"],
        options=("--fps", "400"),
    ),
    Proof(
        "Seconds of a clip that are none, or begin behind the video's end, make the row invalid (`video.clip`)",
        {
            "a.jsonl": b"".join(
                json.dumps(
                    {
                        "messages": [{"role": "user", "content": [{"type": "video_url", "video_url": part}]}],
                        "answer": "x",
                    }
                ).encode()
                + b"\n"
                for clip in ({}, {"start": 0.5, "end": 1}, {"start": "x"}, {"start": 1, "end": 1}, {"start": 60})
                for part in [{"url": "good.mp4", **clip}]
            ),
            "good.mp4": make_video,
        },
        "openai_messages",
        {2: "video.clip", 3: "video.clip", 4: "video.clip"},
        _FOUR,
    ),
    _asked(
        "If a video has fewer frames than requested, all are used and a warning counts such videos",
        {"short.mp4": lambda path: make_video(path, frames=2)},
        ["short.mp4"],
        [],
        says="a video has fewer frames than requested",
    ),
]
