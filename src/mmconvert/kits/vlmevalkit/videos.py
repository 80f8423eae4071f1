"""Rows about a video in VLMEvalKit's tables: which file it is, and its frames.

Source: open-compass/VLMEvalKit@0a79169 vlmeval/dataset/video_base.py, videomme.py.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mmconvert.chat.videos import ShownVideos, take_videos
from mmconvert.core.errors import RowError, in_field
from mmconvert.core.record import Image
from mmconvert.plugins.format import Context

VIDEOS = ("video_path", "video")
"""Columns of a video, the first that is filled counts."""
_SUFFIX = ".mp4"


def shows_only_video(fields: Mapping[str, Any]) -> bool:
    """Tell a row that has a video and no image.

    Example:
        >>> shows_only_video({"video": "a"}), shows_only_video({"video": "a", "image_path": "a.png"})
        (True, False)
    """
    there = {name for name in (*VIDEOS, "image", "image_path") if fields.get(name) is not None}
    return bool(there) and there <= {*VIDEOS}


def take_table_videos(fields: dict[str, Any], context: Context) -> Sequence[tuple[str, Any]]:
    """Take the video out of a row; a name without an ending that is no file is VLMEvalKit's for an MP4 file.

    Returns:
        Place and value of each video; none for a reference whose video nobody asks for.

    Raises:
        RowError: The codes of `take_videos`.
    """
    if context.for_scoring and context.pictures.sampling is None:
        return ()  # a reference is one without its video, too
    found = take_videos(fields, context, VIDEOS)
    if found:
        context.videos.update(name for name in VIDEOS if fields.get(name) is not None)
    return [(place, _complete_name(value, context)) for place, value in found]


def _complete_name(value: str, context: Context) -> str:
    if Path(value).suffix:
        return value
    try:
        context.pictures.find(value)
    except RowError:
        return f"{value}{_SUFFIX}"
    return value


def show_table_videos(
    videos: Sequence[tuple[str, Any]], question: str | None, images: Sequence[Image], context: Context
) -> tuple[str | None, list[Image]]:
    """Load frames of videos.

    Args:
        videos: Place and value of each.
        question: The question, which may show them by `<video k>`.
        images: The row's pictures, behind which the frames come.
        context: Where videos lie.

    Returns:
        The question with placeholders of frames, and pictures and frames.

    Raises:
        RowError: The codes of `ShownVideos.expand`.
    """
    shown = ShownVideos(videos, {image.slot: image for image in images}, context)
    with in_field("question"):
        question = question and shown.expand(question)
    shown.load_rest()
    return question, [*shown.images.values()]
