r"""`<image>` in a text and images in reading order: one into the other, for training formats.

These formats hold a turn as one text in which a marker stands for the next image of the row. Text that
only looks like a marker is written with a backslash (`<\image>`), text that looks like that with one
more, and reading takes one away, so that every text comes back as it was.
"""

import re
from collections.abc import Sequence
from functools import cache

import msgspec

from mmconvert.core.errors import RowError
from mmconvert.core.record import Part

IMAGE, VIDEO = "image", "video"
_IMAGE = f"<{IMAGE}>"

NO_SAMPLING = "videos are read as frames. Give their number: --frames 8"
"""Why a row with a video is refused, and what to type."""


class Markers(msgspec.Struct, frozen=True):
    r"""What a trainer reads as something other than text.

    Attributes:
        words: Names inside `<...>`; `image` stands for an image, `video` for frames of a video, any other for media we
            do not read.
        line_break: One line break behind an image belongs to the marker, as in LLaVA's `<image>\n`.
    """

    words: tuple[str, ...] = (IMAGE,)
    line_break: bool = False


@cache
def _compile_pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"<(\\*)({'|'.join(map(re.escape, words))})>")


def escape(text: str, words: tuple[str, ...] = (IMAGE,)) -> str:
    r"""Keep a text from being read as a marker.

    Example:
        >>> print(escape("an <image> tag, <b>"))
        an <\image> tag, <b>
    """
    return _compile_pattern(words).sub(r"<\1\\\2>", text) if "<" in text else text


def unescape(text: str, words: tuple[str, ...] = (IMAGE,)) -> str:
    r"""Undo `escape`.

    Example:
        >>> unescape(escape(r"<image> <\image>")) == r"<image> <\image>"
        True
    """
    return _compile_pattern(words).sub(lambda match: f"<{match[1][1:]}{match[2]}>", text) if "\\" in text else text


def split_at_markers(text: str, markers: Markers, videos: bool = False) -> tuple[Part, ...]:
    r"""Cut a text at its markers.

    Args:
        text: The turn as the source wrote it.
        markers: What the trainer reads as a marker.
        videos: Give parts of type `video`, for whoever puts frames in their place.

    Returns:
        Text and image parts in reading order, empty texts left out where there is an image.

    Raises:
        RowError: `media.unsupported`: a marker asks for a video, or for a sound.

    Example:
        >>> split_at_markers("<image>\nWhat?", Markers(line_break=True))
        (Part(type='image', text=''), Part(type='text', text='What?'))
    """
    if "<" not in text:
        return (Part("text", text),)
    if (plain := split_plain_text(text, markers)) is not None:
        return plain
    parts: list[Part] = []
    at = 0
    for match in _compile_pattern(markers.words).finditer(text):
        if match[1]:
            continue
        if match[2] == VIDEO and not videos:
            raise RowError("media.unsupported", "", f"{match[0]} in a text: {NO_SAMPLING}")
        if match[2] not in (IMAGE, VIDEO):
            raise RowError("media.unsupported", "", f"{match[0]} in a text marks media that mmconvert does not read.")
        if match.start() > at:
            parts.append(Part("text", unescape(text[at : match.start()], markers.words)))
        parts.append(Part(match[2]))
        at = match.end()
        if markers.line_break and text.startswith("\n", at):
            at += 1
    if at < len(text) or not parts:
        parts.append(Part("text", unescape(text[at:], markers.words)))
    return tuple(parts)


def split_plain_text(text: str, markers: Markers) -> tuple[Part, ...] | None:
    r"""Cut a text that begins with its only image, as most texts with one do; None for any other text with a `<`.

    Example:
        >>> split_plain_text("<image>What?", Markers()), split_plain_text("Is <image> it?", Markers())
        ((Part(type='image', text=''), Part(type='text', text='What?')), None)
    """
    if "<" not in text:
        return (Part("text", text),)
    if not text.startswith(_IMAGE) or text.find("<", len(_IMAGE)) >= 0 or IMAGE not in markers.words:
        return None
    at = len(_IMAGE)
    if markers.line_break and text.startswith("\n", at):
        at += 1
    return (Part(IMAGE), Part("text", text[at:])) if at < len(text) else (Part(IMAGE),)


def join_with_markers(parts: Sequence[Part], markers: Markers) -> str:
    r"""Write a turn as one text with markers; see `split_at_markers`.

    Example:
        >>> join_with_markers([Part("text", "See"), Part("image"), Part("text", "here")], Markers())
        'See<image>here'
    """
    pieces: list[str] = []
    text = ""
    for number, part in enumerate(parts):
        if part.type == "text":
            # Joined before it is escaped: a marker could stand across two texts.
            text += part.text
            continue
        follows = markers.line_break and number + 1 < len(parts)
        pieces += [escape(text, markers.words), f"<{IMAGE}>\n" if follows else f"<{IMAGE}>"]
        text = ""
    return "".join([*pieces, escape(text, markers.words)])


def check_count(markers: int, images: int, field: str, kind: str = "image") -> None:
    """Compare the number of markers, or of image parts, with the number of images.

    Args:
        markers: How many images the turns ask for.
        images: How many the row has.
        field: Field of the images, for the message.
        kind: What is counted.

    Raises:
        RowError: `placeholder.count`: the numbers differ.
    """
    if markers != images:
        message = f"the turns show {markers} {kind}s, but the row has {images}. Give each {kind} one marker."
        raise RowError("placeholder.count", field, message)
