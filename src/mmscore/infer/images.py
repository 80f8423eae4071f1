"""Pictures as a request takes them: decoded for a model here, or shrunk bytes for a service."""

import io

from PIL import Image as Picture
from PIL import UnidentifiedImageError

from mmconvert.core.errors import RowError, take_first_line
from mmconvert.core.record import Image

_JPEG_QUALITY = 95


def decode_image(image: Image, number: int, max_side: int | None = None) -> Picture.Image:
    """Decode a picture; the orientation that EXIF may note is left alone, as the kits leave it.

    Args:
        image: The picture.
        number: Which picture of the row it is, from 1, for messages.
        max_side: A longer side is shrunk to it, in pixels; None leaves the size alone.

    Raises:
        RowError: There are no bytes, or they cannot be decoded.
    """
    if image.bytes is None:
        raise RowError("image.missing", "images", f"image {number} is only an address. Convert with --allow-remote.")
    picture = _open_image(image.bytes, number, "RGB")
    if max_side is not None:
        picture.thumbnail((max_side, max_side))
    return picture


def shrink_image(data: bytes, number: int, max_side: int) -> bytes:
    """Shrink a picture whose longer side exceeds a size, for one request; others keep their bytes.

    Args:
        data: The picture's bytes.
        number: Which picture of the row it is, from 1, for messages.
        max_side: The longer side afterwards, in pixels.

    Returns:
        JPEG of quality 95 for a JPEG, else PNG; the orientation that EXIF notes is kept.

    Raises:
        RowError: The picture cannot be decoded.
    """
    try:
        with Picture.open(io.BytesIO(data)) as image:
            if max(image.size) <= max_side:
                return data
            exif, is_jpeg = image.getexif(), image.format == "JPEG"
    except (OSError, ValueError, SyntaxError, Picture.DecompressionBombError):
        exif, is_jpeg = Picture.Exif(), False  # what is wrong is said where the picture is decoded
    smaller = _open_image(data, number, "RGB" if is_jpeg else "RGBA")
    smaller.thumbnail((max_side, max_side))
    buffer = io.BytesIO()
    if is_jpeg:
        smaller.save(buffer, "JPEG", quality=_JPEG_QUALITY, exif=exif)
    else:
        smaller.save(buffer, "PNG", exif=exif)
    return buffer.getvalue()


def _open_image(data: bytes, number: int, mode: str) -> Picture.Image:
    try:
        return Picture.open(io.BytesIO(data)).convert(mode)
    except UnidentifiedImageError:
        message = f"image {number} has no known format. Run mmconvert check on the source."
    except (OSError, ValueError, SyntaxError, Picture.DecompressionBombError) as error:
        message = f"image {number} cannot be decoded ({take_first_line(error)})."
    raise RowError("image.decode", "images", message)
