"""The process that takes frames out of one video: the video is its standard input, the frames its standard output.

`mmconvert.images.video` starts it by the path of this file, so that it loads nothing of ours. Before it
looks at a byte
of the video it gives up the right to open any file or connection, and what it may take of memory and time: a video that
wins a fight with a decoder has won nothing. The decoders are those of PyAV, in containers that hold their frames
themselves; playlists, lists of files and the like are none.

The first packets tell nothing that must be believed: all packets are read, their times are the video's frames, and then
the wanted ones are decoded, each from the key frame before it.
"""

import bisect
import contextlib
import importlib
import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, BinaryIO

MOST_FRAMES = 1_000
"""Frames of one video."""
MOST_PACKETS = 5_000_000
"""Pieces that a video may consist of."""
MOST_SECONDS = 24 * 3600
"""Length of a video."""
MOST_OUTPUT_BYTES = 512 << 20
"""Stored frames of one video together."""
QUALITY = 95
"""Of JPEG."""

DECODERS = frozenset(
    (
        *("av1", "h263", "h264", "hevc", "libaom-av1", "libdav1d", "mpeg1video", "mpeg2video", "mpeg4", "msmpeg4v1"),
        *("msmpeg4v2", "msmpeg4", "msmpeg4v3", "mjpeg", "gif", "vp8", "vp9", "libvpx", "libvpx-vp9", "flv", "prores"),
        *("wmv1", "wmv2", "vc1", "theora", "h263p", "dvvideo", "rawvideo", "ffv1", "png"),
    )
)
"""Decoders of videos that people have, none of which reads another file."""

_HEAD_BYTES = 1024
_BOXES = (b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"pnot")
_MARGIN_PIXELS = 1 << 20
_CUT_SECONDS, _CUT_SHARE = Fraction(1), Fraction(1, 20)
"""What a Matroska file may end before the time that it names, the larger of both."""

_AGAIN = "Get the video again, or leave the row out."
_FEWER = "Make the video smaller, take fewer frames, or leave the row out."


class VideoError(Exception):
    """A video that gives no frames; the code of the refused row and its message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def find_container(head: bytes) -> str | None:
    r"""Tell by its first bytes which demuxer reads a video; None for what is no container of an allowed kind.

    Example:
        >>> find_container(b"\0\0\0\x18ftypmp42"), find_container(b"#EXTM3U\nfile:///etc/passwd")
        ('mov', None)
    """
    if head[4:8] in _BOXES:
        return "mov"
    if head[:4] == b"\x1aE\xdf\xa3":
        return "matroska"
    if head[:4] == b"RIFF" and head[8:12] == b"AVI ":
        return "avi"
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return "gif"
    if head[:4] == b"\x00\x00\x01\xba":
        return "mpeg"
    if any(head[start::size][:4] == b"GGGG" for start, size in ((0, 188), (4, 192))):
        return "mpegts"
    return None


def choose_by_number(times: Sequence[int], number: int) -> list[int]:
    """Choose N frames at i/(N+1) of the frames, i from 1 to N; all of them where there are no more.

    Example:
        >>> choose_by_number(range(0, 100, 10), 4), choose_by_number([0, 10], 8)
        ([20, 40, 60, 80], [0, 10])
    """
    count = len(times)
    if number >= count:
        return list(times)
    return [times[i * count // (number + 1)] for i in range(1, number + 1)]


def choose_by_rate(times: Sequence[int], seconds: Fraction, rate: Fraction) -> tuple[list[int], int]:
    """Choose the frames that are shown at 0, 1/R, 2/R, ... seconds.

    Args:
        times: Times of the frames, ascending, in units of `seconds`.
        seconds: Length of the unit.
        rate: Frames a second, R.

    Returns:
        The times chosen, each once, and how many were asked for: as many as fit, at least one.

    Raises:
        VideoError: `video.too_large`: more than `MOST_FRAMES`.

    Example:
        >>> choose_by_rate(range(20), Fraction(1, 10), Fraction(2)), choose_by_rate([0, 1], Fraction(1), Fraction(2))
        (([0, 5, 10, 15], 4), ([0, 1], 4))
    """
    span = times[-1] - times[0]
    # The last frame is shown for as long as the others are on average.
    duration = (span + Fraction(span, max(len(times) - 1, 1))) * seconds
    asked = max(1, int(duration * rate))
    if asked > MOST_FRAMES:
        told = f"a video of {float(duration):,.0f} seconds gives {asked:,} frames, over the limit of {MOST_FRAMES:,}"
        raise VideoError("video.too_large", f"{told}. Lower --fps, or give --frames 8 in its place.")
    shown = (bisect.bisect_right(times, times[0] + i / rate / seconds) - 1 for i in range(asked))
    return [times[at] for at in dict.fromkeys(shown)], asked


def cut_clip(times: Sequence[int], seconds: Fraction, start: str | None, end: str | None) -> Sequence[int]:
    """Give the frames that are shown in a clip: from the one that is seen at its start to the last one at its end.

    Args:
        times: Times of the frames, ascending, in units of `seconds`.
        seconds: Length of the unit.
        start: Seconds from the first frame as a text, None for the beginning.
        end: Likewise, None for the end.

    Raises:
        VideoError: `video.clip`: the video ends before the clip begins.

    Example:
        >>> cut_clip(range(5, 25), Fraction(1, 10), "0.45", "0.8"), cut_clip([0, 10], Fraction(1), None, None)
        (range(9, 14), [0, 10])
    """
    first = 0 if start is None else bisect.bisect_right(times, times[0] + Fraction(start) / seconds) - 1
    last = len(times) if end is None else bisect.bisect_right(times, times[0] + Fraction(end) / seconds)
    length = (times[-1] - times[0]) * seconds
    if start is not None and Fraction(start) > length + length / max(len(times) - 1, 1):
        told = f"the clip begins at {float(start):g} seconds, and the video ends at {float(length):.1f}"
        raise VideoError("video.clip", f"{told}. Correct the start, or leave the row out.")
    return times[first:last]


class _Video:
    """An open video, read as often as need be; `times` are those of all its frames, `keys` those of key frames."""

    def __init__(self, file: BinaryIO, most_pixels: int, threads: int) -> None:
        self._file, self._most_pixels, self._threads = file, most_pixels, threads
        file.seek(0)
        head = file.read(_HEAD_BYTES)
        kind = find_container(head)
        if kind is None:
            raise VideoError("video.decode", f"no MP4, MOV, Matroska, WebM, AVI, MPEG or GIF (got {head[:16]!r}).")
        if kind == "avi" and 0 < int.from_bytes(head[4:8], "little") - (file.seek(0, io.SEEK_END) - 8) < 1 << 31:
            raise VideoError("video.decode", f"the video ends before its own end. {_AGAIN}")
        self._kind = kind
        self._list_packets()

    def _open(self) -> tuple[Any, Any]:
        import av

        self._file.seek(0)
        # Whatever a container would open besides: nothing, by three ways of saying so.
        options = {"protocol_whitelist": "none", "format_whitelist": self._kind, "enable_drefs": "0"}
        # Texts in a video may be damaged. PyAV 19 never fails at them, and has no such option any more.
        texts: dict[str, Any] = {"metadata_errors": "replace"} if int(av.__version__.partition(".")[0]) < 19 else {}
        container = av.open(self._file, format=self._kind, container_options=options, io_open=_refuse_opening, **texts)
        stream = container.streams.best("video")
        codec = getattr(stream, "codec_context", None)
        if stream is None or codec is None:
            raise VideoError("video.decode", f"the file holds no video. {_AGAIN}")
        if codec.codec.name not in DECODERS:
            raise VideoError(
                "video.decode", f"a video of type {codec.codec.name!r} is not read. Save it as H.264 in MP4."
            )
        self._check_pixels(codec.width, codec.height)
        # The decoder counts a margin, too; frames are counted exactly when they are there.
        codec.options = {"max_pixels": str(2 * self._most_pixels + _MARGIN_PIXELS)}
        codec.thread_type, codec.thread_count = "AUTO", self._threads
        return container, stream

    def _check_pixels(self, width: int, height: int) -> None:
        if width * height > self._most_pixels:
            told = f"the video says it is {width} x {height} pixels; the limit is {self._most_pixels:,}"
            raise VideoError("video.too_large", f"{told}. {_FEWER}")

    def _list_packets(self) -> None:
        """Read all packets, and refuse a video that ends before its own end."""
        container, stream = self._open()
        with container:
            self.seconds = Fraction(stream.time_base or 0)
            times: set[int] = set()
            keys: dict[int, int] = {}
            number = seen = 0
            end = Fraction(0)
            for number, packet in enumerate(container.demux(), 1):
                if number > MOST_PACKETS:
                    raise VideoError("video.too_large", f"the video has more than {MOST_PACKETS:,} packets. {_FEWER}")
                time = packet.dts if packet.pts is None else packet.pts
                if not packet.size or time is None:
                    continue
                if packet.time_base:
                    end = max(end, (time + (packet.duration or 0)) * packet.time_base)
                if packet.stream.index != stream.index:
                    continue
                seen += 1
                if not packet.is_discard:
                    times.add(time)
                    if packet.is_keyframe:
                        keys[time] = time if packet.dts is None else min(time, packet.dts)
            self._check_end(container, stream, seen, end)
        self.times = sorted(times)
        self.keys = sorted(keys)
        self._seek_times = keys
        if not self.times or not self.seconds:
            raise VideoError("video.decode", f"the video holds no frames. {_AGAIN}")
        length = (self.times[-1] - self.times[0]) * self.seconds
        if length > MOST_SECONDS:
            told = f"the video says it lasts {float(length):,.0f} seconds; the limit is {MOST_SECONDS:,}"
            raise VideoError("video.too_large", f"{told}. {_FEWER}")

    def _check_end(self, container: Any, stream: Any, seen: int, end: Fraction) -> None:
        # These two name at their beginning what the file holds; others end where they end.
        if self._kind == "mov" and seen < stream.frames:
            raise VideoError("video.decode", f"the video ends after {seen:,} of {stream.frames:,} frames. {_AGAIN}")
        if self._kind == "matroska" and container.duration:
            named = Fraction(container.duration, 1_000_000)
            if named - end > max(_CUT_SECONDS, named * _CUT_SHARE):
                told = f"the video ends after {float(end):.1f} of {float(named):.1f} seconds"
                raise VideoError("video.decode", f"{told}. {_AGAIN}")

    def decode(self, wanted: Sequence[int]) -> Iterator[Any]:
        """Decode frames at some times, ascending; where a packet shows no frame, the next one, and none twice.

        Raises:
            VideoError: `video.decode`, `video.too_large`.
        """
        found = self._decode_by_keys(wanted)
        return found if found is not None else self._decode_all(wanted)

    def _decode_by_keys(self, wanted: Sequence[int]) -> Iterator[Any] | None:
        """Find the frames from the key frames before them; None where the file's index leads elsewhere."""
        frames: list[_Found] = []
        container, stream = self._open()
        with container:
            decoded, position = container.decode(stream), -1
            for time in wanted:
                before = bisect.bisect_right(self.keys, time)
                key = self.keys[before - 1] if before else None
                sought = key is not None and (position < 0 or key > self.times[position])
                if sought and key is not None and key > self.times[0]:
                    container.seek(self._seek_times[key], stream=stream, backward=True)
                    decoded = container.decode(stream)
                frame = self._find_frame(decoded, time)
                if frame is None or frame.time != time:
                    return None
                frames.append(frame)
                position = bisect.bisect_left(self.times, time)
        return iter(frames)

    def _find_frame(self, decoded: Iterator[Any], time: int) -> "_Found | None":
        """Decode on to a time; give the frame that is shown then."""
        for frame in decoded:
            if frame.pts is not None and frame.pts >= time:
                return self._keep(frame)
        return None

    def _decode_all(self, wanted: Sequence[int]) -> Iterator[Any]:
        """Find the frames by decoding all of the video from its beginning."""
        container, stream = self._open()
        with container:
            decoded, last, shown = container.decode(stream), None, None
            for time in wanted:
                while last is None or last.pts < time:
                    following = next((frame for frame in decoded if frame.pts is not None), None)
                    if following is None:
                        break
                    last = following
                if last is not None and last.pts != shown:
                    shown = last.pts
                    yield self._keep(last)

    def _keep(self, frame: Any) -> "_Found":
        if frame.is_corrupt:
            at = float((frame.pts - self.times[0]) * self.seconds)
            raise VideoError("video.decode", f"the frame at {at:.2f} seconds is damaged. {_AGAIN}")
        self._check_pixels(frame.width, frame.height)
        image = frame.to_image()
        # Phones store what they film lying on its side, and say so.
        return _Found(frame.pts, image.rotate(frame.rotation, expand=True) if frame.rotation else image)


class _Found:
    """A frame: when it is shown, in units of the video, and its pixels."""

    def __init__(self, time: int, image: Any) -> None:
        self.time = time
        self.image = image


def _refuse_opening(url: str, flags: int, options: Mapping[str, str]) -> Any:
    raise VideoError("video.decode", f"the video refers to another file, which is not read. {_AGAIN}")


def extract(file: BinaryIO, request: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Take frames out of a video.

    Args:
        file: The video, which can be sought in.
        request: `frames` or `fps` (a text), `start` and `end` of a clip (texts or null), `format` (JPEG or PNG),
            `most_pixels`, `threads`.

    Returns:
        `times` in seconds and how many frames were `asked` for; the file of each frame.

    Raises:
        VideoError: The video is refused.
    """
    video = _Video(file, request["most_pixels"], request["threads"])
    shown = cut_clip(video.times, video.seconds, request.get("start"), request.get("end"))
    if request.get("frames"):
        wanted, asked = choose_by_number(shown, request["frames"]), request["frames"]
    else:
        wanted, asked = choose_by_rate(shown, video.seconds, Fraction(request["fps"]))
    times: list[float] = []
    files: list[bytes] = []
    size = 0
    for found in video.decode(wanted):
        data = _encode(found.image, request["format"])
        size += len(data)
        if size > MOST_OUTPUT_BYTES:
            told = f"the frames of the video take more than {MOST_OUTPUT_BYTES >> 20} MiB"
            raise VideoError("video.too_large", f"{told}. {_FEWER}")
        times.append(float((found.time - video.times[0]) * video.seconds))
        files.append(data)
    if not files:
        raise VideoError("video.decode", f"no frame of the video can be decoded. {_AGAIN}")
    return {"times": times, "asked": asked}, files


def _encode(image: Any, format: str) -> bytes:
    out = io.BytesIO()
    image.convert("RGB").save(out, format, **({"quality": QUALITY} if format == "JPEG" else {"compress_level": 3}))
    return out.getvalue()


def give_up_rights(most_bytes: int, seconds: int) -> None:
    """Let this process open nothing any more, and take no more than some memory and time; Windows has no such limits.

    Args:
        most_bytes: Addresses in memory.
        seconds: Time of the processor.
    """
    try:
        import resource
    except ModuleNotFoundError:
        return
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_AS: most_bytes,
        resource.RLIMIT_NOFILE: 0,
    }
    for kind, most in limits.items():
        # A system may not know a limit for what it is (macOS: of memory).
        with contextlib.suppress(ValueError, OSError):
            hard = resource.getrlimit(kind)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (most, most))


def _load_all(request: Mapping[str, Any]) -> None:
    """Load what PyAV and Pillow load when they first need it, by taking a frame out of a video of our own."""
    import PIL.Image

    for module in ("av.audio.stream", "av.subtitles.stream"):
        importlib.import_module(module)
    video = io.BytesIO()
    shown = [PIL.Image.new("L", (16, 16), grey) for grey in (0, 255)]
    shown[0].save(video, "GIF", save_all=True, append_images=shown[1:])
    extract(video, {**request, "frames": 1, "start": None, "end": None, "most_pixels": _MARGIN_PIXELS})


def main() -> None:
    """Answer one request, which is the argument: a line of JSON, then the files of the frames one after the other."""
    request = json.loads(sys.argv[1])
    sys.path += [place for place in request["path"] if place not in sys.path]
    import av

    # Decoders' threads that told Python what they find would wait for the thread that waits for them.
    av.logging.restore_default_callback()
    av.logging.set_libav_level(av.logging.PANIC)
    _load_all(request)
    give_up_rights(request["most_bytes"], request["seconds"])
    said: dict[str, Any]
    files: list[bytes] = []
    try:
        said, files = extract(sys.stdin.buffer, request)
    except VideoError as error:
        said = {"code": error.code, "message": str(error)}
    except MemoryError:
        told = f"decoding the video takes more than {request['most_bytes'] >> 20} MiB of memory"
        said = {"code": "video.too_large", "message": f"{told}. {_FEWER}"}
    except Exception as error:  # a decoder raises whatever it likes on broken bytes
        words = str(getattr(error, "strerror", None) or error).splitlines() or [type(error).__name__]
        reason = words[0][:120].rstrip(". ")
        said = {"code": "video.decode", "message": f"the video cannot be decoded: {reason}. {_AGAIN}"}
    said["sizes"] = [len(data) for data in files]
    out = sys.stdout.buffer
    out.write(json.dumps(said).encode() + b"\n")
    for data in files:
        out.write(data)
    out.flush()


if __name__ == "__main__":
    main()
