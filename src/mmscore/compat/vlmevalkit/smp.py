"""The framework's small questions about texts, versions, files and images, under its names.

Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/smp/misc.py, vlmeval/smp/file.py, vlmeval/smp/vlm.py. Not kept: the
framework
encodes every image again, as JPEG and at least 100 pixels wide and high; here a file's own bytes stay what they are.
"""

import io
import operator
import re
from collections.abc import Sequence
from pathlib import Path

import pybase64
from PIL import Image as PILImage

from mmconvert.core.errors import RowError, UsageError
from mmconvert.core.text.literals import parse_list
from mmconvert.images.loader import ImageLoader, decode_base64
from mmconvert.images.verify import open_image

INFER_FAIL_MSG = "Failed to obtain answer"

_BYTES = {"GB": 1 << 30, "MB": 1 << 20, "KB": 1 << 10}
_CHINESE = re.compile(r"[一-鿿]")


def cn_string(s: str) -> bool:
    """Tell whether a text holds a Chinese character.

    Example:
        >>> cn_string("看图"), cn_string("look")
        (True, False)
    """
    return _CHINESE.search(s) is not None


def splitlen(s: str, sym: str = "/") -> int:
    """Count the pieces of a text.

    Example:
        >>> splitlen("OWNER/NAME")
        2
    """
    return len(s.split(sym))


def listinstr(lst: Sequence[str], s: str) -> bool:
    """Tell whether a text holds one of some words.

    Example:
        >>> listinstr(["MCQ", "Y/N"], "MCQ"), listinstr(["a"], "b")
        (True, False)
    """
    return any(item in s for item in lst)


def istype(s: object, type: type) -> bool:
    """Tell whether a value is of a type, or a text that says one.

    Example:
        >>> istype("3", int), istype("3.5", int), istype("['a']", list), istype(3, str)
        (True, False, True, False)
    """
    if isinstance(s, type):
        return True
    try:
        values = parse_list(f"[{s}]")
    except Exception:  # what cannot be read is of no type
        return False
    return len(values) == 1 and isinstance(values[0], type)


def version_cmp(v1: str, v2: str, op: str = "eq") -> bool:
    """Compare versions; `op` is eq, ne, lt, le, gt or ge.

    Example:
        >>> version_cmp("4.10", "4.9", "gt")
        True
    """
    from packaging.version import parse  # comes with `datasets`; few ask

    return bool(getattr(operator, op)(parse(v1), parse(v2)))


def get_file_extension(file_path: str) -> str:
    """Give what stands behind the last dot.

    Example:
        >>> get_file_extension("out/m_d.xlsx")
        'xlsx'
    """
    return str(file_path).rpartition(".")[2]


def file_size(f: str | Path, unit: str = "GB") -> float:
    """Give the size of a file in GB, MB or KB of 1024."""
    return Path(f).stat().st_size / _BYTES[unit]


def read_ok(img_path: str | Path) -> bool:
    """Tell whether an image's file is there and opens."""
    try:
        with PILImage.open(img_path) as image:
            return min(image.size) > 0
    except (OSError, ValueError, SyntaxError, PILImage.DecompressionBombError):
        return False


_IMAGES = ImageLoader(())
_NOT_IN_JPEG = ("RGBA", "P", "LA")


def encode_image_to_base64(img: PILImage.Image, target_size: int = -1, fmt: str = "JPEG") -> str:
    """Encode an image that is open.

    Args:
        img: The image; it is not changed.
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
    """Encode an image's file: its own bytes, unless a size or a format is asked for.

    Args:
        image_path: The file.
        target_size: Longest side in pixels; below 1 leaves the size alone.
        fmt: Format to encode it in; None for the file's own.

    Returns:
        Base64 without a prefix.

    Raises:
        UsageError: The file cannot be read.
        RowError: It is no image that is allowed.
    """
    try:
        data = Path(image_path).read_bytes()
    except OSError as error:
        raise UsageError(f"{image_path}: cannot be read ({error.strerror}). Name the image's file.") from None
    _IMAGES.of_bytes(data, 1)
    if target_size < 1 and fmt is None:
        return pybase64.b64encode(data).decode()
    with open_image(data, copies=1) as image:
        return encode_image_to_base64(image, target_size, fmt or image.format or "PNG")


def decode_base64_to_image(base64_string: str, target_size: int = -1) -> PILImage.Image:
    """Decode base64 to an open image.

    Args:
        base64_string: Base64 without a prefix.
        target_size: Longest side in pixels; below 1 leaves the size alone.

    Raises:
        RowError: It is no base64, or no image that is allowed.
    """
    image = _IMAGES.of_base64(base64_string, 1)
    with open_image(image.bytes or b"", copies=1) as opened:
        decoded = opened.convert("RGB") if opened.mode in _NOT_IN_JPEG else opened.copy()
    if target_size > 0:
        decoded.thumbnail((target_size, target_size))
    return decoded


def decode_base64_to_image_file(base64_string: str, image_path: str | Path, target_size: int = -1) -> None:
    """Write the image of a base64 text to a file: its own bytes, unless a size is asked for.

    Args:
        base64_string: Base64 without a prefix.
        image_path: The file; its folders are made.
        target_size: Longest side in pixels, encoded as the file's ending says; below 1 leaves the bytes alone.

    Raises:
        RowError: It is no base64, or no image that is allowed, or the file's ending has no place for its colours.
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
        path.write_bytes(_IMAGES.of_bytes(decode_base64(base64_string), 1).bytes or b"")
