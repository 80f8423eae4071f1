"""Show a text with an image of itself: MMTrustEval's related-image-txtembed.

MMTrustEval draws with FreeMono Bold, which is not part of this project; name its file with `font` to get its
letters. Without, the free font that Pillow holds (Aileron) draws; the lines are laid out alike.
"""

import math
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import PIL.Image
import PIL.ImageDraw
import PIL.ImageFont

from mmconvert.core.errors import RowError, UsageError, show
from mmconvert.core.record import Record
from mmconvert.core.run_cache import cache_for_run
from mmconvert.images.canvas import check_pixels, encode_png
from mmconvert.kits.mmtrusteval.methods import PARAMETERS, add_text_image, parse_size, sample_text
from mmconvert.plugins.transform import Setting, Transform

LEADING = 1.1
"""Height of a line in font sizes, for the height of the image.
Source: thu-ml/MMTrustEval@a067801 mmte/methods/related.py:RelatedTextEmbedImage.generate_image."""

_NO_CHARACTER = "\uffff"
_INVISIBLE = " \n"


def text_image(record: Record, parameters: Mapping[str, Any], setting: Setting) -> Iterator[Record]:
    """Show a text with an image of it, black on white.

    Args:
        record: The record; the words of its last user turn are drawn.
        parameters: `font_size`, `max_width`, `font`, `size` ("" for the size that the text takes), `folder`, `lazy`.
        setting: Checks the image.

    Yields:
        The record with the image.

    Raises:
        RowError: There is no user turn, the font lacks a character, or the image would be too large.

    Parity: thu-ml/MMTrustEval@a067801 mmte/methods/related.py:RelatedTextEmbedImage, with its font.
    """

    def make() -> bytes:
        font = _load_font(parameters["font"], parameters["font_size"])
        image = draw_text(sample_text(record), font, parameters["font_size"], parameters["max_width"])
        if parameters["size"]:
            image = image.resize(parse_size(parameters["size"]), PIL.Image.Resampling.BICUBIC)
        return encode_png(image)

    yield add_text_image(record, make, parameters, setting)


class TextLines(msgspec.Struct, frozen=True):
    """A text as it is laid out: the block, and how many lines the image is high."""

    text: str
    count: int


def draw_text(text: str, font: PIL.ImageFont.FreeTypeFont, font_size: int, max_width: int) -> PIL.Image.Image:
    """Draw a text, its lines as one block in the middle.

    Args:
        text: The text; a tab counts as a blank.
        font: The font.
        font_size: Its size in pixels.
        max_width: Width in pixels at which a line ends, and the least width of the image.

    Returns:
        An RGB image.

    Raises:
        RowError: `font.character`, `image.too_large`.
    """
    text = text.replace("\r\n", "\n").replace("\t", " ")
    _check_characters(text, font)
    lines = wrap_text(text, font, max_width)
    text_width = max(font.getlength(line) for line in lines.text.split("\n"))
    width = int(max(text_width, max_width))
    height = math.ceil(font_size * lines.count * LEADING)
    check_pixels(width, height)
    image = PIL.Image.new("RGB", (width, height), (255, 255, 255))
    at = ((width - text_width) // 2, 0)
    PIL.ImageDraw.Draw(image).multiline_text(at, lines.text, fill=(0, 0, 0), font=font)
    return image


def wrap_text(text: str, font: PIL.ImageFont.FreeTypeFont, max_width: int) -> TextLines:
    """Break a text at blanks into lines narrower than a width; a longer word has a line of its own.

    Args:
        text: The text; its own line breaks stay.
        font: Measures the words.
        max_width: Width in pixels.

    Returns:
        The lines without the blank ones at both ends, and their number with them.
    """
    blank = font.getlength(" ")
    lines = []
    for paragraph in text.split("\n"):
        line: list[str] = []
        length = 0.0
        for word in paragraph.split(" "):
            word_length = font.getlength(word)
            if length + word_length >= max_width:
                lines.append(" ".join(line).strip())
                line, length = [], 0.0
            line.append(word)
            length += word_length + blank
        lines.append(" ".join(line).strip())
    return TextLines("\n".join(lines).strip(), len(lines))


@cache_for_run
def _load_font(file: str, size: int) -> PIL.ImageFont.FreeTypeFont:
    # The basic layout is the same everywhere; the other one needs a library that not every Pillow has.
    basic = PIL.ImageFont.Layout.BASIC
    try:
        if file:
            return PIL.ImageFont.truetype(Path(file), size, layout_engine=basic)
        font = PIL.ImageFont.load_default(size)
    except OSError as error:
        raise UsageError(f"{file}: cannot be read as a font: {error}. Give a TrueType file: font=FILE.") from None
    if not isinstance(font, PIL.ImageFont.FreeTypeFont):
        raise UsageError("this Pillow is built without FreeType and cannot draw letters. Install Pillow's own wheel.")
    return font.font_variant(layout_engine=basic)


def _check_characters(text: str, font: PIL.ImageFont.FreeTypeFont) -> None:
    for character in sorted(set(text) - set(_INVISIBLE)):
        if not _has(font, character):
            lack = f"the font {font.getname()[0]} has no {character!r} (U+{ord(character):04X})"
            raise RowError("font.character", "", f"{lack}. Give another: font=FILE.")


@cache
def _has(font: PIL.ImageFont.FreeTypeFont, character: str) -> bool:
    """Tell a drawn character from the box that a font draws for one it has not."""
    missing, drawn = font.getmask(_NO_CHARACTER), font.getmask(character)
    return (missing.size, bytes(missing)) != (drawn.size, bytes(drawn))


def _check(parameters: Mapping[str, Any]) -> None:
    for name, most in (("font_size", 1_000), ("max_width", 20_000)):
        if not 1 <= parameters[name] <= most:
            raise UsageError(f"text_image: {name} must be 1 to {most} {show(parameters[name])}.")
    if parameters["size"]:
        parse_size(parameters["size"])
    _load_font(parameters["font"], parameters["font_size"])


TRANSFORM = Transform(
    summary="Show a text with an image of itself (MMTrustEval's related-image-txtembed)",
    apply=text_image,
    parameters={"font_size": 90, "max_width": 1024, "font": "", "size": "", **PARAMETERS},
    check=_check,
)
