"""`<image k>` in text and images in reading order: one into the other."""

import re
from collections.abc import Mapping, Sequence

from mmconvert.core.errors import RowError
from mmconvert.core.record import Image, Part, Turn

PLACEHOLDER = re.compile(r"<image[ _](\d{1,6})>", re.ASCII)
MAX_SLOT = 100
_IMAGE_COLUMN = re.compile(r"image_([1-9]\d{0,5})", re.ASCII)


def parse_image_slot(column: str) -> int | None:
    """Give the k of a column named `image_k`.

    Returns:
        1 to 100, or None for any other column.

    Example:
        >>> parse_image_slot("image_7"), parse_image_slot("image_path"), parse_image_slot("image_101")
        (7, None, None)
    """
    match = _IMAGE_COLUMN.fullmatch(column)
    slot = int(match[1]) if match else 0
    return slot if 1 <= slot <= MAX_SLOT else None


def list_slots(text: str) -> list[int]:
    """List the numbers of the placeholders of a text, in reading order, repeats kept.

    Example:
        >>> list_slots("<image 2> or <image_1> or <image 2>")
        [2, 1, 2]
    """
    return [int(match[1]) for match in PLACEHOLDER.finditer(text)] if "<image" in text else []


def interleave(text: str, images: Mapping[int, Image], field: str) -> tuple[tuple[Part, ...], tuple[Image, ...]]:
    """Cut a text at its placeholders.

    Args:
        text: Text with `<image k>` or `<image_k>`.
        images: Images by k.
        field: Name of the field for messages.

    Returns:
        Text and image parts in reading order (empty texts left out), and the image of each image part.

    Raises:
        RowError: `placeholder.no_image`: a placeholder names no image.
    """
    parts: list[Part] = []
    shown: list[Image] = []
    at = 0
    for match in PLACEHOLDER.finditer(text):
        slot = int(match[1])
        if slot not in images:
            message = f"{match[0]} is in the text, but there is no image {slot}."
            raise RowError("placeholder.no_image", field, message)
        if match.start() > at:
            parts.append(Part("text", text[at : match.start()]))
        parts.append(Part("image"))
        shown.append(images[slot])
        at = match.end()
    if at < len(text) or not parts:
        parts.append(Part("text", text[at:]))
    return tuple(parts), tuple(shown)


def format_turn(turn: Turn, images: Sequence[Image]) -> str:
    """Write a turn as one text, `<image k>` where images stand.

    Args:
        turn: The turn.
        images: The turn's images, one for each image part.

    Example:
        >>> format_turn(Turn("user", (Part("text", "See "), Part("image"))), [Image(b"", 3)])
        'See <image 3>'
    """
    if len(turn.content) == 1 and not images:
        return turn.content[0].text
    slots = iter(images)
    return "".join([part.text if part.type == "text" else f"<image {next(slots).slot}>" for part in turn.content])
