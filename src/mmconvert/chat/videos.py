"""Videos of a row as the frames that stand in their place, where the user says how many; else such a row is refused.

Formats show frames as they show images: a marker or a part of a video becomes an image part for each frame, and in a
text that numbers its media, `<video 1>` becomes `<image 3><image 4>`, so that whatever words the text again finds them.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from mmconvert.core.errors import RowError, in_field, show
from mmconvert.core.record import Image
from mmconvert.core.text.image_markers import NO_SAMPLING
from mmconvert.images.video import WHOLE, Clip
from mmconvert.plugins.format import Context

VIDEOS = ("videos", "video")
"""Fields in which training data hold videos."""
SOUNDS = ("audios", "audio")

NUMBERED = re.compile(r"<video[ _](\d{1,6})>", re.ASCII)
_MARKER = re.compile(r"<video(?:[ _](\d{1,6}))?>", re.ASCII)
_COLUMN = re.compile(r"video_([1-9]\d{0,5})", re.ASCII)


def list_values(value: Any, field: str) -> list[tuple[str, Any]]:
    """Give what a field of videos holds, one or a list, each with its place; [] for null and "".

    Example:
        >>> list_values("a.mp4", "video"), list_values(["a.mp4", ""], "videos"), list_values(None, "video")
        ([('video', 'a.mp4')], [('videos[0]', 'a.mp4')], [])
    """
    items = enumerate(value) if isinstance(value, list) else [(None, value)]
    return [(field if at is None else f"{field}[{at}]", item) for at, item in items if item is not None and item != ""]


def take_videos(fields: dict[str, Any], context: Context, names: Sequence[str] = VIDEOS) -> Sequence[tuple[str, Any]]:
    """Take the videos out of a row that may name some.

    Args:
        fields: The row; the fields of videos are taken out where frames of them are wanted.
        context: Says whether they are.
        names: Fields of videos, of which the first that holds any counts.

    Returns:
        Place and value of each.

    Raises:
        RowError: `media.unsupported`: the row has a sound, or it has a video and nobody says which frames to take.
    """
    for name in SOUNDS:
        if list_values(fields.get(name), name):
            raise RowError("media.unsupported", name, "sounds are not supported yet. Leave the row out.")
    for name in names:
        if found := list_values(fields.get(name), name):
            if context.images.sampling is None:
                raise RowError("media.unsupported", name, NO_SAMPLING)
            del fields[name]
            context.videos.add(name)
            return found
    return ()


def read_clip(start: Any, end: Any) -> Clip:
    """Read the seconds of a video that a row is about.

    Args:
        start: Where they begin, None for the video's beginning.
        end: Where they end, None for its end.

    Raises:
        RowError: `video.clip`.

    Example:
        >>> read_clip(1, "2.5"), read_clip(None, None)
        (Clip(start=1.0, end=2.5), Clip(start=None, end=None))
    """
    seconds = [_read_seconds(value) for value in (start, end)]
    first, last = (0.0 if seconds[0] is None else seconds[0]), (math.inf if seconds[1] is None else seconds[1])
    if not 0 <= first < last:
        raise RowError("video.clip", "", f"a clip begins at 0 or later and ends behind its start {show([start, end])}.")
    return Clip(*seconds)


def _read_seconds(value: Any) -> float | None:
    if value is None or value == "":
        return None
    try:
        seconds = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        seconds = math.nan
    if not math.isfinite(seconds):
        raise RowError("video.clip", "", f"expected seconds {show(value)}.")
    return seconds


def load_frames(value: Any, slot: int, context: Context, clip: Clip = WHOLE) -> tuple[Image, ...]:
    """Load frames of a video; that there are fewer than asked for is a remark.

    Args:
        value: What the source wrote for the video.
        slot: Number of the first frame.
        context: Where videos lie, and which frames are wanted.
        clip: The seconds that are meant.

    Raises:
        RowError: The codes of `ImageLoader.of_video`.
    """
    frames, asked = context.images.of_video(value, slot, clip)
    if len(frames) < asked:
        context.warn("a video has fewer frames than requested; all of them are used")
    return frames


class ShownVideos:
    """Videos that texts show by `<video k>` or `<video_k>`, or by `<video>` for each in its order.

    Attributes:
        images: Images of the row by slot; frames are added behind them.
    """

    def __init__(
        self,
        videos: Sequence[tuple[str, Any]] | Mapping[int, tuple[str, Any]],
        images: dict[int, Image],
        context: Context,
    ) -> None:
        """Begin with videos, none of which is shown yet.

        Args:
            videos: Place and value of each, in order or by number.
            images: Images of the row by slot.
            context: Where videos lie.
        """
        self._videos = dict(videos) if isinstance(videos, Mapping) else dict(enumerate(videos, 1))
        self.images = images
        self._slots: dict[int, list[int]] = {}
        self._context = context

    def expand(self, text: str) -> str:
        """Put the placeholders of frames in the place of those of videos.

        Raises:
            RowError: `placeholder.no_image`: the text shows a video that the row does not have; the codes of videos.
        """
        if "<video" not in text or not self._videos:
            return text
        plain = [match for match in _MARKER.finditer(text) if match[1] is None]
        order: Iterator[int] = iter(self._videos)
        counted = len(plain) == len(self._videos)

        def write(match: re.Match[str]) -> str:
            if match[1] is None:
                return self._write(next(order)) if counted else match[0]
            if int(match[1]) not in self._videos:
                message = f"{match[0]} is in the text, but there is no video {int(match[1])}."
                raise RowError("placeholder.no_image", "", message)
            return self._write(int(match[1]))

        return _MARKER.sub(write, text)

    def load_rest(self) -> None:
        """Load the videos that no text shows yet."""
        for number in self._videos:
            self._load(number)

    def require_shown(self) -> None:
        """Refuse a row of which no text shows some video: it would be another question without it.

        Raises:
            RowError: `placeholder.count`.
        """
        for number, (place, _) in self._videos.items():
            if number not in self._slots:
                message = f"no text shows this video. Write <video {number}> there, or take the video out."
                raise RowError("placeholder.count", place, message)

    def _write(self, number: int) -> str:
        return "".join(f"<image {slot}>" for slot in self._load(number))

    def _load(self, number: int) -> list[int]:
        if number not in self._slots:
            place, value = self._videos[number]
            first = max(self.images, default=0) + 1
            with in_field(place):
                frames = load_frames(value, first, self._context)
            self.images.update(zip(count(first), frames, strict=False))
            self._slots[number] = [frame.slot for frame in frames]
            self._context.videos.add(re.split(r"[.\[]", place)[0])
        return self._slots[number]


def list_numbered_videos(fields: Mapping[str, Any], context: Context) -> dict[int, tuple[str, Any]]:
    """List `video_1`, `video_2`, ..., or the videos of the list `videos` where there are none, by number.

    Returns:
        Number -> place and value; {} where no frames are wanted.
    """
    if context.images.sampling is None:
        return {}
    numbered = ((match, name) for name in fields if (match := _COLUMN.fullmatch(name)))
    found = {int(match[1]): videos[0] for match, name in numbered if (videos := list_values(fields[name], name))}
    return found or dict(enumerate(list_values(fields.get("videos"), "videos"), 1))
