"""What people write for an image that is neither a plain path nor a data URL, as the path or bytes that are meant."""

import re
from urllib.parse import unquote, urlsplit

_BASE64 = re.compile(r"\s*(?:iVBORw0KGg|/9j/|R0lGOD[dl]h|UklGR|SUkqA|TU0AK|Qk[0-3])[A-Za-z0-9+/_=\s-]{60,}", re.DOTALL)
"""How base64 of a PNG, JPEG, GIF, WebP, TIFF or BMP begins."""

_FILE_URL = "file://"
_OWN_HOSTS = ("", "localhost")


def is_bare_base64(text: str) -> bool:
    """Tell base64 of an image from a path or an address: it begins as one of the allowed kinds does.

    Example:
        >>> is_bare_base64("iVBORw0KGgo" + 80 * "A"), is_bare_base64("/9j/cat.jpg")
        (True, False)
    """
    return _BASE64.fullmatch(text) is not None


def find_plain_path(text: str) -> str | None:
    r"""Give the path that a `file:` address or a path of Windows means on this machine; None for any other text.

    Whether the path may be read is asked as of any other: a drive or another machine is none of this one's folders.

    Example:
        >>> find_plain_path(r"images\cat.png"), find_plain_path("file:///data/my%20cat.png"), find_plain_path("cat.png")
        ('images/cat.png', '/data/my cat.png', None)
        >>> find_plain_path(r"C:\cat.png"), find_plain_path("file://server/cat.png")
        ('C:/cat.png', None)
    """
    if text[: len(_FILE_URL)].lower() == _FILE_URL:
        try:
            address = urlsplit(text)
        except ValueError:
            return None
        return unquote(address.path) if address.netloc.lower() in _OWN_HOSTS else None
    return text.replace("\\", "/") if "\\" in text else None
