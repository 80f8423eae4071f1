"""Frames of a video in the place of the video: which ones, and the process that decodes them, under limits.

A decoder of videos is the largest piece of foreign code that a file of a stranger can reach, so that it runs in a
process of its own (`mmconvert.images.frame_process`) for each video, which may open nothing and has limits of time and
memory. Nothing that it does can take more than its row.
"""

import importlib.util
import json
import math
import os
import subprocess
import sys
import threading
from typing import Any

import msgspec

from mmconvert.core.errors import RowError, UsageError, show
from mmconvert.core.multiprocess import count_usable_cores
from mmconvert.images import frame_process
from mmconvert.images.verify import MAX_PIXELS

VIDEO_ENDINGS = (".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm")
"""What names of video files end in."""
MOST_VIDEO_BYTES = 4 << 30
"""Largest video."""
SECONDS = 60
"""Time that the frames of one video may take."""
MOST_BYTES = 3 << 30
"""Addresses in memory that the process of one video may take."""
_VARIABLES = {"PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "LANG", "LC_ALL"}
"""What Python may need to start at all."""
_MOST_THREADS = 4
_MOST_SAID = 1 << 20
"""Bytes of what a process says beside the frames."""

_FORMATS = {"jpeg": "JPEG", "png": "PNG"}


class Clip(msgspec.Struct, frozen=True):
    """A piece of a video, in seconds from its first frame; None for its own beginning or end."""

    start: float | None = None
    end: float | None = None


WHOLE = Clip()
"""All of a video."""


class FrameSampling(msgspec.Struct, frozen=True):
    """Which frames of a video are taken, and how they are stored.

    Attributes:
        frames: So many, evenly spaced; None where `fps` says it.
        fps: One for each 1/fps seconds.
        format: jpeg or png.
    """

    frames: int | None = None
    fps: float | None = None
    format: str = "jpeg"


class VideoFrames(msgspec.Struct, frozen=True):
    """Frames of a video in their order.

    Attributes:
        frames: The file of each, and its time in seconds from the first frame of the video.
        asked: How many were asked for; there are fewer where the video has no more.
    """

    frames: tuple[tuple[bytes, float], ...]
    asked: int


def build_sampling(frames: int | None, fps: float | None, format: str) -> FrameSampling | None:
    """Build the sampling that options ask for; None where they ask for no frames.

    Raises:
        UsageError: The options exclude each other or are out of range, or PyAV is not installed.
    """
    if frames is None and fps is None:
        return None
    if frames is not None and fps is not None:
        raise UsageError("--frames and --fps exclude each other. Leave one out.")
    if frames is not None and not 1 <= frames <= frame_process.MOST_FRAMES:
        raise UsageError(f"--frames: expected a number from 1 to {frame_process.MOST_FRAMES:,} {show(frames)}.")
    if fps is not None and not (math.isfinite(fps) and fps > 0):
        raise UsageError(f"--fps: expected frames a second, a number above 0 {show(fps)}.")
    if format not in _FORMATS:
        raise UsageError(f"--frame-format: expected {' or '.join(_FORMATS)} {show(format)}.")
    found = importlib.util.find_spec("av")
    # A folder of that name is no package.
    if found is None or found.origin is None:
        raise UsageError('frames of videos need the package av. Install it: pip install "mmconvert[video]"')
    return FrameSampling(frames, fps, format)


def extract_frames(handle: int, sampling: FrameSampling, clip: Clip = WHOLE) -> VideoFrames:
    """Take frames out of a video in a process of its own.

    Args:
        handle: The video, open for reading; where it is read from then, is not told.
        sampling: Which frames.
        clip: The piece of it that they are taken from.

    Raises:
        RowError: `video.decode`, `video.too_large`, `video.timeout`.
    """
    request = {
        "frames": sampling.frames,
        "fps": None if sampling.fps is None else repr(float(sampling.fps)),
        "start": None if clip.start is None else repr(clip.start),
        "end": None if clip.end is None else repr(clip.end),
        "format": _FORMATS[sampling.format],
        "most_pixels": MAX_PIXELS,
        "most_bytes": MOST_BYTES,
        "seconds": SECONDS * _MOST_THREADS,
        "threads": min(_MOST_THREADS, count_usable_cores()),
        "path": [place for place in sys.path if place],
    }
    # Isolated: neither the folder that the user is in nor a variable of his decides what it loads.
    command = [sys.executable, "-I", frame_process.__file__, json.dumps(request)]
    said, ended_in_time = _run(command, handle)
    line, _, files = said.partition(b"\n")
    if not line or len(said) > frame_process.MOST_OUTPUT_BYTES + _MOST_SAID:
        if not ended_in_time:
            message = f"the frames of the video take more than {SECONDS} seconds. Take fewer, or leave the row out."
            raise RowError("video.timeout", "", message)
        raise _build_broken_error()
    try:
        return _read_answer(json.loads(line), files)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _build_broken_error() from None


def _run(command: list[str], handle: int) -> tuple[bytes, bool]:
    """Give what a process writes, as far as it may write so much, and whether it ended in time."""
    late = threading.Event()
    most = frame_process.MOST_OUTPUT_BYTES + _MOST_SAID
    # Keys that stand in variables are none of its business.
    known = {name: value for name, value in os.environ.items() if name.upper() in _VARIABLES}
    with subprocess.Popen(
        command, stdin=handle, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=known
    ) as process:

        def stop() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(SECONDS, stop)
        timer.start()
        try:
            said = process.stdout.read(most + 1) if process.stdout is not None else b""
        finally:
            timer.cancel()
            process.kill()
    return b"" if late.is_set() else said, not late.is_set()


def _read_answer(said: dict[str, Any], files: bytes) -> VideoFrames:
    if said.get("code") == "video.decode":
        raise RowError("video.decode", "", said["message"])
    if said.get("code") == "video.clip":
        raise RowError("video.clip", "", said["message"])
    if said.get("code") == "video.too_large":
        raise RowError("video.too_large", "", said["message"])
    frames = []
    at = 0
    for time, size in zip(said["times"], said["sizes"], strict=True):
        frames.append((files[at : at + size], float(time)))
        at += size
    if at != len(files):
        raise ValueError("the sizes are not those of the files")
    return VideoFrames(tuple(frames), int(said["asked"]))


def _build_broken_error() -> RowError:
    return RowError("video.decode", "", "the decoder of the video broke down. Save the video again.")
