"""Rows about a video in VLMEvalKit's tables: which file it is, and its frames.

Source: open-compass/VLMEvalKit@0a79169 vlmeval/dataset/video_base.py, videomme.py.
"""

import contextlib
import re
from collections.abc import Sequence
from typing import Any

from mmconvert.chat.videos import ShownVideos, take_videos
from mmconvert.core.errors import RowError, in_field
from mmconvert.core.record import LETTERS, Image
from mmconvert.core.text.options import read_option_texts
from mmconvert.plugins.format import Context

_OPTIONS = "candidates"
_PART = ("start", "end")
"""Columns in which MVBench names the seconds of a video that a question is about."""
VIDEOS = ("video_path", "video")
"""Columns of a video, the first that is filled counts."""
_SUFFIX = ".mp4"


def take_table_videos(fields: dict[str, Any], context: Context) -> Sequence[tuple[str, Any]]:
    """Take the video out of a row, of which VLMEvalKit's `video` leaves `.mp4` out.

    Returns:
        Place and value of each video; none for a reference whose video nobody asks for.

    Raises:
        RowError: The codes of `take_videos`.
    """
    if context.for_scoring and context.images.sampling is None:
        return ()  # a reference is one without its video, too
    found = take_videos(fields, context, VIDEOS)
    if found:
        if all(fields.get(name) is not None for name in _PART):
            context.warn("the row names a part of its video, and frames of all of it are shown")
        context.videos.update(name for name in VIDEOS if fields.get(name) is not None)
    return [(place, _complete_name(value, context)) for place, value in found]


def _complete_name(value: str, context: Context) -> str:
    for name in (value, f"{value}{_SUFFIX}"):
        with contextlib.suppress(RowError):
            context.images.find(name)
            return name
    return value


def take_candidates(fields: dict[str, Any]) -> tuple[str, ...]:
    """Take the options of a question about a video out of `candidates`, a list of texts that may begin with letters.

    Args:
        fields: The row. An answer that is the text of one option becomes its letter, as MVBench's are.

    Returns:
        The options without their letters; () where there are none.

    Raises:
        RowError: The codes of `read_option_texts`.

    Example:
        >>> row = {"candidates": "['A. red', 'B. blue']", "answer": "B"}
        >>> take_candidates(row), row
        (('red', 'blue'), {'answer': 'B'})
        >>> row = {"candidates": '["red", "blue"]', "answer": "blue"}
        >>> take_candidates(row), row
        (('red', 'blue'), {'answer': 'B'})
    """
    if fields.get(_OPTIONS) is None:
        return ()
    with in_field(_OPTIONS):
        options = read_option_texts(fields.pop(_OPTIONS))
    lettered = [re.match(rf"\(?{letter}[.):]\s*", text) for letter, text in zip(LETTERS, options, strict=False)]
    if all(lettered):
        options = tuple(text[match.end() :] for match, text in zip(lettered, options, strict=True) if match)
    answer = fields.get("answer")
    if options.count(answer) == 1 and answer not in [*LETTERS[: len(options)]]:
        fields["answer"] = LETTERS[options.index(answer)]
    return options


def show_table_videos(
    videos: Sequence[tuple[str, Any]], question: str | None, images: Sequence[Image], context: Context
) -> tuple[str | None, list[Image]]:
    """Load frames of videos.

    Args:
        videos: Place and value of each.
        question: The question, which may show them by `<video k>`.
        images: The row's images, behind which the frames come.
        context: Where videos lie.

    Returns:
        The question with placeholders of frames, and images and frames.

    Raises:
        RowError: The codes of `ShownVideos.expand`.
    """
    shown = ShownVideos(videos, {image.slot: image for image in images}, context)
    with in_field("question"):
        question = question and shown.expand(question)
    shown.load_rest()
    return question, [*shown.images.values()]
