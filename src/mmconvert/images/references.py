"""What people write for an image that is neither a plain path nor a data URL, as the path or bytes that are meant."""

import re
from collections.abc import Callable
from pathlib import PureWindowsPath
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from mmconvert.core.errors import RowError

_LEAST = 60
_BEGINNING = r"\s*(?:iVBORw0KGg|/9j/|R0lGOD[dl]h|UklGR|SUkqA|TU0AK|Qk[0-3])"
_BASE64 = re.compile(rf"{_BEGINNING}[A-Za-z0-9+/_=\s-]{{{_LEAST},}}", re.DOTALL)
"""How base64 of a PNG, JPEG, GIF, WebP, TIFF or BMP begins."""

_FILE_URL = "file://"
_OWN_HOSTS = ("", "localhost")
_Found = TypeVar("_Found")


def is_bare_base64(text: str) -> bool:
    """Tell base64 of an image from a path or an address: it begins as one of the allowed kinds does.

    Example:
        >>> is_bare_base64("iVBORw0KGgo" + 80 * "A"), is_bare_base64("/9j/cat.jpg")
        (True, False)
    """
    return len(text) > _LEAST and _BASE64.fullmatch(text) is not None


def find_plain_path(text: str) -> str | None:
    r"""Give the path that a `file:` address or a path of Windows means on this machine; None for any other text.

    Whether the path may be read is asked as of any other: a drive or another machine is none of this one's folders.

    Example:
        >>> find_plain_path(r"images\cat.png"), find_plain_path("file:///data/my%20cat.png"), find_plain_path("cat.png")
        ('images/cat.png', '/data/my cat.png', None)
        >>> find_plain_path(r"C:\cat.png"), find_plain_path("file:///C:/cat.png"), find_plain_path("file://server/cat.png")
        ('C:/cat.png', 'C:/cat.png', None)
    """
    if text[: len(_FILE_URL)].lower() == _FILE_URL:
        try:
            address = urlsplit(text)
        except ValueError:
            return None
        path = unquote(address.path)
        # The path of a drive has a slash in front of it there.
        path = path[1:] if is_windows_place(path[1:]) and not path.startswith("//") else path
        return path if address.netloc.lower() in _OWN_HOSTS else None
    return text.replace("\\", "/") if "\\" in text else None


def is_windows_place(text: str) -> bool:
    r"""Tell a path that begins at a drive or a server of Windows, on whatever system.

    Example:
        >>> [is_windows_place(text) for text in (r"C:\cat.png", "c:cat.png", r"\\server\images\cat.png")]
        [True, True, True]
        >>> is_windows_place(r"images\cat.png")
        False
    """
    return PureWindowsPath(text).drive != ""


def try_plain_path(find: Callable[[str], _Found], text: str) -> _Found:
    """Find what a source wrote, or else what it means by a `file:` address or with the backslashes of Windows.

    Raises:
        RowError: As `find` of the text; `image.missing` where a path inside the roots is meant, and no file is there.
    """
    try:
        return find(text)
    except RowError:
        if (plain := find_plain_path(text)) is None:
            raise
        try:
            return find(plain)
        except RowError as error:
            if error.code == "image.missing":
                raise
        raise
