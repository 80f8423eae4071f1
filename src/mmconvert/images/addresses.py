"""Finding out which addresses a row's images are at, before the row is read: what stands in for an image meanwhile."""

from typing import Any

import pybase64
from msgspec.structs import replace

from mmconvert.images.loader import ImageLoader

_ONE_PIXEL = pybase64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)
"""The smallest PNG."""
_LONGEST_ADDRESS = 10_000
"""Letters of a text in which an address of an image is looked for."""


def note_addresses(images: ImageLoader) -> tuple[ImageLoader, list[str]]:
    """Give a finder that fetches nothing and takes no frames, and the addresses that it is asked for meanwhile."""
    addresses: list[str] = []

    def note(address: str) -> bytes:
        addresses.append(address)
        return _ONE_PIXEL

    return replace(images, fetch=note, sampling=None, ahead=None), addresses


def mentions_address(value: Any) -> bool:
    """Tell whether a value holds what may be the address of an image.

    Example:
        >>> mentions_address({"a": [{"url": "https://a.example/1.png"}]}), mentions_address({"a": ["1.png", 2]})
        (True, False)
    """
    if isinstance(value, str):
        return len(value) <= _LONGEST_ADDRESS and "://" in value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return any(map(mentions_address, inner))
