"""Images that a transform makes: pixels out of a record's image, PNG bytes, and the way into the record.

A made image takes the slot of the one it stands for; the source's own image stays in the record as an
attachment under a slot that was free, its bytes untouched. `extra["transforms"]` says what was done.
"""

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import PIL.Image
from msgspec.structs import replace

from mmconvert.core.errors import RowError
from mmconvert.core.record import Image, Part, Record, Turn
from mmconvert.core.text.turns import find_last_user_turn, list_last_turn_images
from mmconvert.images.loader import ImageLoader
from mmconvert.images.verify import MAX_PIXELS, open_image

NOTES = "transforms"
"""Field of `extra` with one note a step, in the order in which they ran."""


def decode_rgb(image: Image) -> PIL.Image.Image:
    """Decode an image to RGB; transparency is dropped and an orientation tag not followed.

    Raises:
        RowError: `image.remote`: only its address is known; `image.decode`.
    """
    if image.bytes is None:
        raise RowError("image.remote", "", "an image that is only a URL cannot be changed. Download it first.")
    with open_image(image.bytes, copies=1) as opened:
        return opened.convert("RGB")


def encode_png(image: PIL.Image.Image) -> bytes:
    r"""Encode an image without loss; the same pixels give the same bytes.

    Example:
        >>> encode_png(PIL.Image.new("RGB", (2, 1), "red"))[:4]
        b'\x89PNG'
    """
    out = BytesIO()
    # On photographs as small as the default level, in less than half its time.
    image.save(out, "PNG", compress_level=3)
    return out.getvalue()


def check_pixels(width: int, height: int) -> None:
    """Refuse an image that is larger than the ones that are read.

    Raises:
        RowError: `image.too_large`.
    """
    if width * height > MAX_PIXELS:
        message = f"an image of {width:,} x {height:,} has more than {MAX_PIXELS:,} pixels."
        raise RowError("image.too_large", "", message)


def find_shown_image(record: Record, slot: int) -> Image:
    """Give the image with a slot that the prompt shows.

    Raises:
        RowError: `image.none`: the prompt shows no such image.
    """
    for image in record.images:
        if image.slot == slot:
            return image
    slots = ", ".join(str(image.slot) for image in record.images) or "none"
    raise RowError("image.none", "", f"the prompt shows no image {slot} (its images: {slots}). See slot=N.")


def replace_image(record: Record, image: Image, data: bytes, loader: ImageLoader, note: Mapping[str, Any]) -> Record:
    """Show a changed image in the place of the source's own.

    Args:
        record: The record.
        image: The image that is changed, one of the record's; it is attached.
        data: The changed image's file.
        loader: Checks it.
        note: What was done.

    Returns:
        The record; every place that showed the image shows the changed one.

    Raises:
        RowError: The changed image is refused.
    """
    made = replace(loader.of_bytes(data, image.slot), detail=image.detail)
    original = replace(image, slot=_free_slot(record))
    images = tuple(made if other.slot == image.slot else other for other in record.images)
    note = {**note, "slot": image.slot, "original_slot": original.slot}
    attachments = (*record.attachments, original)
    return replace(record, images=images, attachments=attachments, extra=_add_note(record.extra, note))


def insert_image(record: Record, data: bytes, images: ImageLoader, note: Mapping[str, Any]) -> Record:
    """Show one image with the last user turn: before its text, or in the place of its images.

    Args:
        record: The record.
        data: The image's file.
        images: Checks it.
        note: What was done.

    Returns:
        The record; images that the turn showed before are attached.

    Raises:
        RowError: `messages.no_user`: nobody asks anything; or the image is refused.
    """
    at = require_user_turn(record)
    turn, replaced = record.messages[at], list_last_turn_images(record)
    start = sum(part.type == "image" for before in record.messages[:at] for part in before.content)
    slot = replaced[0].slot if replaced else _free_slot(record)
    made = images.of_bytes(data, slot)
    free = _free_slot(record) if replaced else slot + 1
    distinct = {image.slot: image for image in replaced}.values()
    originals = tuple(replace(image, slot=free + k) for k, image in enumerate(distinct))
    place = next((k for k, part in enumerate(turn.content) if part.type == "image"), 0)
    parts = [part for part in turn.content if part.type != "image"]
    parts.insert(place, Part("image"))
    note = {**note, "slot": slot, **({"original_slot": free} if originals else {})}
    return replace(
        record,
        messages=(*record.messages[:at], Turn(turn.role, tuple(parts)), *record.messages[at + 1 :]),
        images=(*record.images[:start], made, *record.images[start + len(replaced) :]),
        attachments=(*record.attachments, *originals),
        extra=_add_note(record.extra, note),
    )


def require_user_turn(record: Record) -> int:
    """Give the index of the last user turn.

    Raises:
        RowError: `messages.no_user`: there is none.
    """
    at = find_last_user_turn(record)
    if at is None:
        raise RowError("messages.no_user", "messages", "the row has no user turn to show an image with.")
    return at


def _free_slot(record: Record) -> int:
    return 1 + max((image.slot for image in (*record.images, *record.attachments)), default=0)


def _add_note(extra: Mapping[str, Any], note: Mapping[str, Any]) -> dict[str, Any]:
    notes = extra.get(NOTES, [])
    return {**extra, NOTES: [*(notes if isinstance(notes, list) else [notes]), dict(note)]}
