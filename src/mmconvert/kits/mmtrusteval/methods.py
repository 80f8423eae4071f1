"""What MMTrustEval's methods share: the sample's text, sizes, and files that are made once and then reused.

A method gives a text an image. What it draws depends on the seed and the text, so that a file named by the
text holds the same image whoever makes it first.
"""

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mmconvert.core.errors import Error, RowError, UsageError, show
from mmconvert.core.record import Record
from mmconvert.core.text.turns import join_texts
from mmconvert.images.canvas import insert_image, require_user_turn
from mmconvert.images.loader import ImageLoader
from mmconvert.images.verify import MAX_PIXELS
from mmconvert.plugins.transform import Setting
from mmconvert.storage.temporary import open_temporary_file

PARAMETERS: Mapping[str, Any] = {"folder": "", "lazy": True}
"""Where made images are kept ("" keeps none), and whether a file that stands there is used again."""

_SIZE = re.compile(r"([1-9]\d{0,5})x([1-9]\d{0,5})", re.ASCII)


def parse_size(text: str) -> tuple[int, int]:
    """Read a size.

    Args:
        text: `WIDTHxHEIGHT` in pixels.

    Returns:
        Width and height.

    Raises:
        UsageError: The text is no size, or the size is larger than images may be.

    Example:
        >>> parse_size("640x480")
        (640, 480)
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        raise UsageError(f"a size is written WIDTHxHEIGHT in pixels, such as 640x480 {show(text)}.")
    width, height = int(match[1]), int(match[2])
    if width * height > MAX_PIXELS:
        raise UsageError(f"an image has at most {MAX_PIXELS:,} pixels {show(text)}.")
    return width, height


def sample_text(record: Record) -> str:
    """Give the text that a method works on: the words of the last user turn.

    Raises:
        RowError: `messages.no_user`: nobody asks anything.
    """
    return join_texts(record.messages[require_user_turn(record)])


def hash_text(text: str) -> str:
    """Name a text as MMTrustEval names the image made for it.

    Returns:
        64 hexadecimal digits.

    Parity: thu-ml/MMTrustEval@a067801 mmte/methods/related.py:RelatedTextEmbedImage.hash.

    Example:
        >>> hash_text("A cat.")[:8]
        'b5f6ecd0'
    """
    return hashlib.sha3_256(text.encode(errors="surrogatepass")).hexdigest()


def add_text_image(
    record: Record, make: Callable[[], bytes], parameters: Mapping[str, Any], setting: Setting, stem: str | None = None
) -> Record:
    """Show a record's text with an image that a method makes, or made before.

    Args:
        record: The record.
        make: Gives the file of a new image.
        parameters: `folder` and `lazy`.
        setting: Checks the image.
        stem: Name of the image's file without its ending; None for the digest of the text.

    Returns:
        The record with the one image in its last user turn; images it showed before are attached.

    Raises:
        RowError: `make` refuses, or the file in the folder is no image.
        Error: The folder cannot be written.
    """
    stem = stem or hash_text(sample_text(record))
    folder = parameters["folder"]
    data = (
        read_or_make(Path(folder), f"{stem}.png", make, setting.images, lazy=parameters["lazy"]) if folder else make()
    )
    return insert_image(
        record, data, setting.images, {"name": setting.name, **({"file": f"{stem}.png"} if folder else {})}
    )


def read_or_make(folder: Path, name: str, make: Callable[[], bytes], images: ImageLoader, *, lazy: bool) -> bytes:
    """Give the bytes of a file, making it if need be; whoever is first decides, the others take what stands.

    Args:
        folder: Made if it does not exist.
        name: The file's name.
        make: Gives the bytes of a new file.
        images: Checks an old one.
        lazy: Use a file that stands there; False makes it again.

    Returns:
        The file's bytes.

    Raises:
        RowError: The file that stands there is no image.
        Error: The folder cannot be written.
    """
    path = folder / name
    if lazy and path.exists():
        return _read(folder, name, images)
    data = make()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open_temporary_file(folder) as temporary:
            temporary.write_bytes(data)
            if not lazy:
                temporary.replace(path)
                return data
            _publish(temporary, path)
    except OSError as error:
        raise Error(f"{path}: cannot be written: {error.strerror}. Give another folder=DIR.") from None
    return _read(folder, name, images)


def _publish(temporary: Path, path: Path) -> None:
    """Give a finished file its name unless another has it."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return
    except OSError:  # a file system without hard links
        if not path.exists():
            temporary.replace(path)


def _read(folder: Path, name: str, images: ImageLoader) -> bytes:
    image = replace(images, roots=(folder.resolve(),)).of_reference(name, 1)
    if image.bytes is None:
        raise RowError(
            "image.missing", "", f"no such file in {folder} {show(name)}. Put it there, or leave the row out."
        )
    return image.bytes
