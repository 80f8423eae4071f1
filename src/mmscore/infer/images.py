"""Images as a request takes them: decoded for a model here, or shrunk bytes for a service."""

import io
from collections.abc import Iterator
from contextlib import contextmanager

from PIL import Image as Picture

from mmconvert.core.errors import RowError
from mmconvert.core.record import Image
from mmconvert.images.loader import looks_like_image
from mmconvert.images.verify import open_image

_JPEG_QUALITY = 95


def decode_image(image: Image, number: int, max_side: int | None = None) -> Picture.Image:
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
        picture = opened_image.convert("RGB")
        opened_image.close()
        if max_side is not None:
            picture.thumbnail((max_side, max_side))
    return picture


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
def _open_image(data: bytes, number: int) -> Iterator[Picture.Image]:
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
