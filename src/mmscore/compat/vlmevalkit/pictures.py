"""Pictures as base64 and back, under the kit's names; a file's own bytes stay what they are.

Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/smp/vlm.py. Not kept: the kit encodes every file anew, as JPEG
and at least 100 pixels wide and high.
"""

import io
from pathlib import Path

import pybase64
from PIL import Image as Picture

from mmconvert.core.errors import RowError, UsageError
from mmconvert.images.loader import Pictures, decode_base64

_PICTURES = Pictures(())
_NOT_IN_JPEG = ("RGBA", "P", "LA")


def encode_image_to_base64(img: Picture.Image, target_size: int = -1, fmt: str = "JPEG") -> str:
    """Encode a picture that is open.

    Args:
        img: The picture; it is not changed.
        target_size: Longest side in pixels; below 1 leaves the size alone.
        fmt: Format as Pillow names it.

    Returns:
        Base64 without a prefix.
    """
    image = img.convert("RGB") if img.mode in _NOT_IN_JPEG else img.copy()
    if target_size > 0:
        image.thumbnail((target_size, target_size))
    buffer = io.BytesIO()
    image.save(buffer, format=fmt)
    return pybase64.b64encode(buffer.getvalue()).decode()


def encode_image_file_to_base64(image_path: str | Path, target_size: int = -1, fmt: str | None = None) -> str:
    """Encode a picture's file: its own bytes, unless a size or a format is asked for.

    Args:
        image_path: The file.
        target_size: Longest side in pixels; below 1 leaves the size alone.
        fmt: Format to encode it in; None for the file's own.

    Returns:
        Base64 without a prefix.

    Raises:
        UsageError: The file cannot be read.
        RowError: It is no picture that is allowed.
    """
    try:
        data = Path(image_path).read_bytes()
    except OSError as error:
        raise UsageError(f"{image_path}: cannot be read ({error.strerror}). Name the picture's file.") from None
    _PICTURES.of_bytes(data, 1)
    if target_size < 1 and fmt is None:
        return pybase64.b64encode(data).decode()
    with Picture.open(io.BytesIO(data)) as image:
        return encode_image_to_base64(image, target_size, fmt or image.format or "PNG")


def decode_base64_to_image(base64_string: str, target_size: int = -1) -> Picture.Image:
    """Decode base64 to an open picture.

    Args:
        base64_string: Base64 without a prefix.
        target_size: Longest side in pixels; below 1 leaves the size alone.

    Raises:
        RowError: It is no base64, or no picture that is allowed.
    """
    image = _PICTURES.of_base64(base64_string, 1)
    with Picture.open(io.BytesIO(image.bytes or b"")) as picture:
        decoded = picture.convert("RGB") if picture.mode in _NOT_IN_JPEG else picture.copy()
    if target_size > 0:
        decoded.thumbnail((target_size, target_size))
    return decoded


def decode_base64_to_image_file(base64_string: str, image_path: str | Path, target_size: int = -1) -> None:
    """Write the picture of a base64 text to a file: its own bytes, unless a size is asked for.

    Args:
        base64_string: Base64 without a prefix.
        image_path: The file; its folders are made.
        target_size: Longest side in pixels, encoded as the file's ending says; below 1 leaves the bytes alone.

    Raises:
        RowError: It is no base64, or no picture that is allowed, or the file's ending has no place for its colours.
    """
    path = Path(image_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if target_size > 0:
        image = decode_base64_to_image(base64_string, target_size)
        try:
            image.save(path)
        except (OSError, ValueError) as error:
            raise RowError("image.format", "image_path", f"{path.name}: cannot be written ({error}).") from None
    else:
        path.write_bytes(_PICTURES.of_bytes(decode_base64(base64_string), 1).bytes or b"")
