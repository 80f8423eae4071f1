"""Small videos, made on the spot: frame k is as bright as its number says."""

from pathlib import Path

import av
import numpy as np

STEP = 12
"""Brightness between two frames."""


def make_video(
    path: Path,
    frames: int = 20,
    *,
    codec: str = "mpeg4",
    rate: int = 10,
    size: tuple[int, int] = (32, 32),
    gop: int = 5,
    later_frames: int = 0,
    sound: bool = False,
    bright_left: bool = False,
) -> Path:
    """Write a video.

    Args:
        path: Its file; the ending decides the container.
        frames: How many frames.
        codec: Name of the encoder.
        rate: Frames a second.
        size: Width and height.
        gop: Frames from one key frame to the next.
        later_frames: Frames in a row that need a later one (B frames).
        bright_left: The left half of every frame is white, the right half black.
        sound: Add a track of silence and one of subtitles, as Matroska holds them.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate)
        stream.width, stream.height = size
        stream.pix_fmt = "rgb8" if codec == "gif" else "yuvj420p" if codec == "mjpeg" else "yuv420p"
        stream.bit_rate = 4_000_000
        stream.codec_context.gop_size = gop
        stream.codec_context.max_b_frames = later_frames
        audio = container.add_stream("aac", rate=8000) if sound else None
        for number in range(frames):
            pixels = np.full((size[1], size[0], 3), number * STEP % 256, np.uint8)
            if bright_left:
                pixels[:, : size[0] // 2], pixels[:, size[0] // 2 :] = 255, 0
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode())
        if audio is not None:
            silence = av.AudioFrame.from_ndarray(np.zeros((1, 8000), np.float32), format="fltp", layout="mono")
            silence.sample_rate = 8000
            container.mux(audio.encode(silence))
            container.mux(audio.encode())
    return path
