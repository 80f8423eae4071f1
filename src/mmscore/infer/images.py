"""Images as a request takes them: decoded for a model here, or shrunk bytes for a service."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from PIL import Image as PILImage

from mmconvert.core.errors import RowError
from mmconvert.core.record import Image, Record
from mmconvert.images.headers import looks_like_image
from mmconvert.images.verify import MOST_BYTES, open_image

MOST_OF_RECORD, MOST_OF_GROUP = MOST_BYTES, MOST_BYTES // 2
"""Bytes of decoded images on their way to a model of this process: those of a record, and of records that go together;
the next group is made ready meanwhile."""
_JPEG_QUALITY = 95


def decode_image(image: Image, number: int, max_side: int | None = None) -> PILImage.Image:
    """Decode an image; the orientation that EXIF may note is left alone, as the frameworks leave it.

    Args:
        image: The image.
        number: Which image of the row it is, from 1, for messages.
        max_side: A longer side is shrunk to it, in pixels; None leaves the size alone.

    Raises:
        RowError: There are no bytes, or they cannot be decoded.
    """
    if image.bytes is None:
        raise RowError("image.missing", "images", f"image {number} is only a URL. Convert with --allow-remote.")
    with _open_image(image.bytes, number) as opened_image:
        decoded = opened_image.convert("RGB")
        opened_image.close()
        if max_side is not None:
            decoded.thumbnail((max_side, max_side))
    return decoded


def count_decoded_bytes(record: Record, max_side: int | None = None) -> int:
    """Count the bytes that the images of a record take when `decode_image` has decoded them.

    Args:
        record: The record.
        max_side: The longer side to which images are shrunk, in pixels; None leaves their sizes.
    """
    total = 0
    for image in record.images:
        scale = min(1.0, max_side / max(image.width, image.height, 1)) if max_side else 1.0
        total += int(image.width * scale) * int(image.height * scale) * 3
    return total


def refuse_too_many_pixels(record: Record, max_side: int | None = None) -> None:
    """Refuse a record whose images would not fit the memory together.

    Raises:
        RowError: `image.too_large`.
    """
    size = count_decoded_bytes(record, max_side)
    if size > MOST_OF_RECORD:
        raise RowError(
            "image.too_large",
            "images",
            f"the {len(record.images)} images take {size >> 20} MiB decoded, over the limit of {MOST_OF_RECORD >> 20} "
            "for a model that runs here. Shrink them with --max-image-side.",
        )


def count_fitting(records: Sequence[Record], most: int, max_side: int | None = None) -> int:
    """Count how many of the first records may have their images decoded together; at least one.

    Args:
        records: At least one.
        most: How many go together at most.
        max_side: The longer side to which images are shrunk, in pixels; None leaves their sizes.
    """
    held = 0
    for number, record in enumerate(records[:most]):
        held += count_decoded_bytes(record, max_side)
        if number and held > MOST_OF_GROUP:
            return number
    return min(most, len(records))


def shrink_image(data: bytes, number: int, max_side: int) -> bytes:
    """Shrink an image whose longer side exceeds a size, for one request; others keep their bytes.

    Args:
        data: The image's bytes.
        number: Which image of the row it is, from 1, for messages.
        max_side: The longer side afterwards, in pixels.

    Returns:
        JPEG of quality 95 for a JPEG, else PNG; the orientation that EXIF notes is kept.

    Raises:
        RowError: The image cannot be decoded.
    """
    with _open_image(data, number) as opened_image:
        if max(opened_image.size) <= max_side:
            return data
        exif, is_jpeg = opened_image.getexif(), opened_image.format == "JPEG"
        smaller = opened_image.convert("RGB" if is_jpeg else "RGBA")
        opened_image.close()  # to make it smaller takes a second copy
        smaller.thumbnail((max_side, max_side))
    buffer = io.BytesIO()
    if is_jpeg:
        smaller.save(buffer, "JPEG", quality=_JPEG_QUALITY, exif=exif)
    else:
        smaller.save(buffer, "PNG", exif=exif)
    return buffer.getvalue()


@contextmanager
def _open_image(data: bytes, number: int) -> Iterator[PILImage.Image]:
    """Open an image, of which a copy is made, within what all decoders of this process may take."""
    if not looks_like_image(data):
        message = f"image {number} has no known format. Run mmconvert check on the source."
        raise RowError("image.decode", "images", message)
    try:
        with open_image(data, copies=1) as opened_image:
            yield opened_image
    except RowError as error:
        own = error.message.removeprefix("the image")
        said = f"image {number}{own}" if own != error.message else f"image {number}: {own}"
        raise RowError(error.code, "images", said) from None
