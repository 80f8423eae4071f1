"""Decoding an image completely, only to see that it can be: what the walk through its structure cannot find."""

import contextlib
import re
import threading
import warnings
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal

from mmconvert.core.errors import RowError

if TYPE_CHECKING:
    import PIL.Image

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
MAX_PIXELS = 89_478_485
"""Pillow's limit, taken as an error (Pillow itself only warns up to twice that)."""
MOST_BYTES = 768 << 20
"""Memory that decoders may take together: the largest image takes half of it, or all of it where its decoder makes
copies."""
MOST_SCANS = 20
"""Scans of the largest JPEG; a smaller one may have more. Each is a walk over all pixels."""
_GIANT = 128 << 20
"""Bytes of an image that is decoded in blocks of its own."""
_LARGE_BLOCK = 64 << 20
"""Larger than any that the C library keeps."""
_PIXEL_BYTES = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16B": 2, "LA": 4}
_BUFFER = re.compile(r"<_io\.BytesIO object at 0x[0-9a-fA-F]+>")


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


class _Budget:
    """Memory for decoders: whoever wants some waits for those that hold it."""

    def __init__(self, size: int) -> None:
        self._changed = threading.Condition()
        self._left = self._size = size

    @contextlib.contextmanager
    def reserve(self, size: int) -> Iterator[None]:
        size = min(size, self._size)
        with self._changed:
            self._changed.wait_for(lambda: self._left >= size)
            self._left -= size
        try:
            yield
        finally:
            with self._changed:
                self._left += size
                self._changed.notify_all()


_BUDGET = _Budget(MOST_BYTES)


class _LargeBlocks:
    """Blocks for pixels that go back to the system when a giant image is closed.

    Of smaller blocks the C library keeps what a thread has freed, for this thread alone: four threads would hold four
    giants of which they need none. Every other image is decoded sooner in memory that is there.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads = 0

    def __enter__(self) -> None:
        from PIL import _imaging

        with self._lock:
            self._threads += 1
            if self._threads == 1:
                self._before = _imaging.get_block_size()
                _imaging.set_block_size(_LARGE_BLOCK)

    def __exit__(self, *_: object) -> None:
        from PIL import _imaging

        with self._lock:
            self._threads -= 1
            if not self._threads:
                _imaging.set_block_size(self._before)


_LARGE_BLOCKS = _LargeBlocks()


@contextlib.contextmanager
def open_image(data: bytes, *, copies: int = 0, reduce: bool = False) -> "Iterator[PIL.Image.Image]":
    """Open an image under the project's limits; what the decoder raises inside is told as an error of the row.

    Args:
        data: The image's file.
        copies: Copies of its pixels, of four bytes each, that will be made of it besides.
        reduce: A JPEG whose decoder would take too much may give an eighth of its width; else it is refused.

    Raises:
        RowError: `image.too_large` or `image.decode`: the decoder refused it, or would take too much memory or time.
    """
    import PIL.Image  # takes time to load, and most runs decode nothing

    try:
        with _PILLOWS_WARNINGS, PIL.Image.open(BytesIO(_drop_pages(data)), formats=FORMATS) as image:
            size = _refuse_costly(image, data, copies, reduce)
            giant = 4 * image.width * image.height >= _GIANT
            with _BUDGET.reserve(size), _LARGE_BLOCKS if giant else contextlib.nullcontext():
                yield image
    except (PIL.Image.DecompressionBombError, PIL.Image.DecompressionBombWarning):
        raise RowError("image.too_large", "", f"the image has more than {MAX_PIXELS:,} pixels.") from None
    except RowError:
        raise
    except MemoryError:
        raise RowError("image.decode", "", "the image cannot be decoded: memory ran out.") from None
    except Exception as error:  # Pillow's plug-ins raise whatever their parsers raise on broken bytes
        # Pillow names its own buffer by an address in memory, another one at every run.
        said = _BUFFER.sub("the image", str(error))[:120]
        raise RowError("image.decode", "", f"the image cannot be decoded: {said}.") from None


def _drop_pages(data: bytes) -> bytes:
    """Give a TIFF without the pages behind its first: none of them is read, but Pillow would walk through all."""
    if data[:4] not in (b"II*\0", b"MM\0*") or len(data) < 8:
        return data
    order: Literal["little", "big"] = "little" if data[:2] == b"II" else "big"
    at = int.from_bytes(data[4:8], order)
    behind = at + 2 + 12 * int.from_bytes(data[at : at + 2], order)
    return data[:behind] + bytes(4) + data[behind + 4 :] if any(data[behind : behind + 4]) else data


def verify_decoded(data: bytes) -> None:
    """Decode an image completely, only to see that it can be.

    Raises:
        RowError: `image.too_large` or `image.decode`: the decoder refused it, or would take too much memory or time.
    """
    with open_image(data, reduce=True) as image:
        image.load()


def _refuse_costly(image: "PIL.Image.Image", data: bytes, copies: int, reduce: bool) -> int:
    """Refuse an image whose decoder takes too much memory or time; give the memory that it takes.

    A large JPEG may be set to give fewer pixels, for all of its data is read for these too.
    """
    pixels = image.width * image.height
    if image.format == "JPEG" and image.info.get("progressive"):
        # Inside a scan a marker cannot stand; thumbnails in the header hold a few.
        scans = data.count(b"\xff\xda")
        if scans * pixels > MOST_SCANS * MAX_PIXELS:
            told = f"a JPEG of {image.width} x {image.height} in {scans} scans takes too long to decode"
            raise RowError("image.too_large", "", f"{told}. Save it again, or leave the row out.")
    size = estimate_decoder(image) + copies * 4 * pixels
    if size > MOST_BYTES and image.format == "JPEG" and reduce:
        image.draft(None, (image.width // 8, image.height // 8))
        size = estimate_decoder(image, pixels) + copies * 4 * image.width * image.height
    if size > MOST_BYTES:
        told = f"decoding the {image.format} of {image.width} x {image.height} takes {size >> 20} MiB"
        advice = "Make the image smaller, or leave the row out."
        raise RowError("image.too_large", "", f"{told}, over the limit of {MOST_BYTES >> 20}. {advice}")
    return size


def estimate_decoder(image: "PIL.Image.Image", pixels: int | None = None) -> int:
    """Estimate the memory that Pillow takes to decode an image that it has opened.

    Args:
        image: The image.
        pixels: Those of its file, where it is set to give fewer.
    """
    own = image.width * image.height
    size = own * _PIXEL_BYTES.get(image.mode, 4)
    pixels = own if pixels is None else pixels
    if image.format == "WEBP":
        # The decoder of animations holds two canvases and hands out a copy.
        size += 12 * own
    elif image.format == "JPEG" and image.info.get("progressive"):
        # All coefficients of all bands, of two bytes each.
        size += 2 * len(image.getbands()) * pixels
    elif image.format == "BMP":
        # A run-length coded one is unpacked in a buffer of its own.
        size += own
    elif image.format == "TIFF":
        size += _measure_strip(image)
    return size


def _measure_strip(image: Any) -> int:
    """Measure a strip or tile of a TIFF, which is unpacked whole: it may be as high as the image."""
    tags = image.tag_v2
    bits = sum(tags.get(258, (8,))) if isinstance(tags.get(258, (8,)), tuple) else 8
    if 322 in tags and 323 in tags:
        return int(tags[322] * tags[323] * max(bits, 32) // 8)
    rows = min(int(tags.get(278, image.height)), image.height)
    return int(image.width * rows * max(bits, 32) // 8)
