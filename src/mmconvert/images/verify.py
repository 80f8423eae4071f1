"""Decoding a picture completely, only to see that it can be: what the walk through its structure cannot find."""

import contextlib
import re
import threading
import warnings
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING

from mmconvert.core.errors import RowError

if TYPE_CHECKING:
    import PIL.Image

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
MAX_PIXELS = 89_478_485
"""Pillow's limit, taken as an error (Pillow itself only warns up to twice that)."""
_BUFFER = re.compile(r"<_io\.BytesIO object at 0x[0-9a-f]+>")


class _PillowsWarnings:
    """Pillow's warnings, refused or silent while some thread decodes.

    `catch_warnings` is no thread's own: the first thread sets the filters, the last one puts them back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads = 0

    def __enter__(self) -> None:
        with self._lock:
            self._threads += 1
            if self._threads == 1:
                self._before = warnings.catch_warnings()
                self._before.__enter__()
                warnings.simplefilter("ignore")
                import PIL.Image

                warnings.simplefilter("error", PIL.Image.DecompressionBombWarning)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._threads -= 1
            if not self._threads:
                self._before.__exit__(None, None, None)


_PILLOWS_WARNINGS = _PillowsWarnings()


@contextlib.contextmanager
def open_image(data: bytes) -> "Iterator[PIL.Image.Image]":
    """Open a picture under the project's limits; what the decoder raises inside is told as an error of the row.

    Raises:
        RowError: `image.too_large` or `image.decode`: the decoder refused it.
    """
    import PIL.Image  # takes time to load, and most runs decode nothing

    try:
        with _PILLOWS_WARNINGS, PIL.Image.open(BytesIO(data), formats=FORMATS) as image:
            yield image
    except (PIL.Image.DecompressionBombError, PIL.Image.DecompressionBombWarning):
        raise RowError("image.too_large", "", f"the picture has more than {MAX_PIXELS:,} pixels.") from None
    except Exception as error:  # Pillow's plug-ins raise whatever their parsers raise on broken bytes
        # Pillow names its own buffer by an address in memory, another one at every run.
        said = _BUFFER.sub("the picture", str(error))[:120]
        raise RowError("image.decode", "", f"the picture cannot be decoded: {said}.") from None


def verify_decoded(data: bytes) -> None:
    """Decode a picture completely, only to see that it can be.

    Raises:
        RowError: `image.too_large` or `image.decode`: the decoder refused it.
    """
    with open_image(data) as image:
        image.load()
