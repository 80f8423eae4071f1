"""Small images for a page: never the original bytes, shared where an image repeats, bounded in sum."""

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any

import msgspec

from mmconvert.core.errors import RowError
from mmconvert.core.multiprocess import count_usable_cores
from mmconvert.core.record import Image
from mmconvert.images.verify import open_image
from mmconvert.viewer.items import PageImage

if TYPE_CHECKING:
    import PIL.Image

MAX_BYTES = 24 << 20
"""Characters of all thumbnails of a page together."""
SIDES = (96, 1024)
"""Smallest and largest longer side of a thumbnail in pixels."""
_QUALITY = 72
"""Of WebP."""
_JPEG_SIDE = 160
"""Thumbnails of up to so many pixels are JPEG: a page has thousands of them then, and WebP takes five times as long."""
_JPEG_QUALITY = 65
"""Ten thousand photographs of the smallest side have room at that quality."""
_BYTES_A_PIXEL = 0.14
"""Of a large photograph as WebP, as characters of base64; only the guess that sets the first sides."""
_REMEMBERED = 64
"""So many thumbnails tell what the next ones take a pixel; small or noisy images take more than the guess."""
_MOST_REFUSED = 64
"""So many thumbnails in a row that found no room end the making: the next ones are not decoded for nothing."""
_NO_ROOM = "the page has no room for more images"


class Makers(msgspec.Struct, frozen=True):
    """Threads or processes that make thumbnails.

    Attributes:
        begin: (function, task) -> what waits for the result; both are picklable.
        together: Images of a task.
    """

    begin: Callable[[Callable[[Any], Any], Any], Callable[[], Any]]
    together: int = 1


class Thumbnails:
    """Makes the thumbnails of one page; each is the smaller the more images the rest of the room is for."""

    def __init__(self, expected: int, max_bytes: int = MAX_BYTES) -> None:
        """Begin a page.

        Args:
            expected: How many images are likely to come; more may.
            max_bytes: Room for all of them together.
        """
        self._expected = expected
        self._room = max_bytes
        self._made: dict[str, PageImage] = {}
        self._density = _BYTES_A_PIXEL
        self._weighed = 1
        self._refused = 0

    def describe_image(self, image: Image, slot: int | None = None) -> PageImage:
        """Describe an image, with a thumbnail where its bytes are there, can be decoded and the page has room.

        Args:
            image: The image.
            slot: The k of the placeholder that it stands for, None for none.
        """
        name = image.name or image.url or ""
        if image.bytes is None:
            return PageImage(None, "address, not fetched", name, "the dataset has only its URL", slot)
        made = self._made.get(_digest(image))
        if made is None:
            made = self._made[_digest(image)] = self._keep_thumbnail(_make_thumbnail(image, self._find_limits()))
        return PageImage(made.src, made.facts, name, made.note, slot)

    def prepare(self, images: Iterable[Image]) -> None:
        """Make the thumbnails of several images side by side, one a core; `describe_image` then finds them made."""
        with self.start(images):
            pass

    @contextmanager
    def start(self, images: Iterable[Image]) -> Iterator[None]:
        """Prepare images while the context lasts: its end waits for them."""
        with open_threads() as makers:
            finish = self.begin(images, makers)
            yield
            finish()

    def begin(self, images: Iterable[Image], makers: Makers) -> Callable[[], None]:
        """Begin to make the thumbnails of those images that have none.

        Their limits are those of now, which what is under way has not changed yet.

        Args:
            images: The images.
            makers: Make them side by side.

        Returns:
            What waits for the thumbnails, and keeps them for `describe_image`; to be called in the order of `begin`.
        """
        make = partial(_make_thumbnails, limits=self._find_limits())
        new = {_digest(image): image for image in images if image.bytes is not None}
        waiting = [(digest, image) for digest, image in new.items() if digest not in self._made]
        under_way = []
        for start in range(0, len(waiting), makers.together):
            digests, task = zip(*waiting[start : start + makers.together], strict=True)
            under_way.append((digests, makers.begin(make, task)))
        return partial(self._finish, under_way)

    def _finish(self, under_way: Sequence[tuple[Iterable[str], Callable[[], "list[_Thumbnail]"]]]) -> None:
        for digests, result in under_way:
            for digest, made in zip(digests, result(), strict=True):
                if digest not in self._made:
                    self._made[digest] = self._keep_thumbnail(made)

    def _find_limits(self) -> "_ThumbnailLimits | None":
        """Say how much of the room is for the next image, and which side it has then; None where no room is left."""
        if self._refused >= _MOST_REFUSED:
            return None
        share = self._room / max(self._expected - len(self._made), self._expected / 4, 1)
        return _ThumbnailLimits(share, max(SIDES[0], min(SIDES[1], round(sqrt(share / self._density)))))

    def _keep_thumbnail(self, made: "_Thumbnail") -> PageImage:
        size = len(made.shown.src or "")
        if size:
            # Never below the guess: a page of plain drawings need not fill its room.
            self._weighed = min(self._weighed + 1, _REMEMBERED)
            learned = self._density + (size / made.pixels - self._density) / self._weighed
            self._density = max(_BYTES_A_PIXEL, learned)
        if size > self._room:
            self._refused += 1
            return PageImage(None, made.shown.facts, note=_NO_ROOM)
        self._refused = 0 if size else self._refused
        self._room -= size
        return made.shown


@contextmanager
def open_threads() -> Iterator[Makers]:
    """Have a thread for each core."""
    with ThreadPoolExecutor(count_usable_cores()) as threads:
        yield Makers(lambda function, task: threads.submit(function, task).result)


def _digest(image: Image) -> str:
    # A source that is not ours may tell no digest.
    return image.sha256 or hashlib.sha256(image.bytes or b"").hexdigest()


class _ThumbnailLimits(msgspec.Struct, frozen=True):
    """Characters that a thumbnail may take, about, and its longer side in pixels."""

    share: float
    side: int


class _Thumbnail(msgspec.Struct, frozen=True):
    """What is shown of an image, and the pixels of its thumbnail."""

    shown: PageImage
    pixels: int = 0


def _make_thumbnails(images: Sequence[Image], limits: _ThumbnailLimits | None) -> list[_Thumbnail]:
    return [_make_thumbnail(image, limits) for image in images]


def _make_thumbnail(image: Image, limits: _ThumbnailLimits | None) -> _Thumbnail:
    """Make a thumbnail within limits; none where no room is left."""
    data = image.bytes or b""
    facts = f"{image.format} · {image.width} × {image.height} · {format_bytes(len(data))}"
    if limits is None:
        return _Thumbnail(PageImage(None, facts, note=_NO_ROOM))
    side = limits.side
    try:
        small = _shrink(data, side)
    except RowError as error:
        return _Thumbnail(PageImage(None, facts, note=error.message))
    src = _encode(small, side)
    if len(src) > 2 * limits.share and side > SIDES[0]:  # far more than the images before it
        side = max(SIDES[0], round(side * sqrt(limits.share / len(src))))
        _fit(small, side)
        src = _encode(small, side)
    return _Thumbnail(PageImage(src, facts), small.width * small.height)


def _shrink(data: bytes, side: int) -> "PIL.Image.Image":
    """Shrink an image, turned as its metadata says, to a longer side of so many pixels; a smaller one keeps its size.

    Raises:
        RowError: `image.too_large`, `image.decode`: the decoder refused it.
    """
    # Pillow takes time to load, and what a page shows may have no image.
    from PIL.ImageOps import exif_transpose

    with open_image(data, copies=1, reduce=True) as image:
        scale = side / max(*image.size, side)
        # A JPEG is decoded at an eighth, a quarter or half of its size, where that is no smaller than what is shown.
        image.draft("RGB", (ceil(image.width * scale), ceil(image.height * scale)))
        shown = _convert_mode(image)
        image.close()
        _fit(shown, side)
        return exif_transpose(shown)


def _fit(image: "PIL.Image.Image", side: int) -> None:
    """Shrink an image in place. Pillow's default filter takes half as long again, for no more sharpness."""
    import PIL.Image

    image.thumbnail((side, side), PIL.Image.Resampling.HAMMING)


def _encode(shown: "PIL.Image.Image", side: int) -> str:
    """Write an image in a `data:` URL, as WebP or, where sides are small and nothing is transparent, as JPEG."""
    # Metadata such as a place would travel along if it were not cleared; a profile may be larger than the image.
    cleared = {"exif": b"", "xmp": b"", "icc_profile": b"", "comment": b""}
    out, kind = BytesIO(), "jpeg" if side <= _JPEG_SIDE and shown.mode == "RGB" else "webp"
    if kind == "jpeg":
        shown.save(out, kind, quality=_JPEG_QUALITY, optimize=True, **cleared)
    else:
        shown.save(out, kind, quality=_QUALITY, method=2, **cleared)
    return f"data:image/{kind};base64,{base64.b64encode(out.getvalue()).decode()}"


def _convert_mode(image: "PIL.Image.Image") -> "PIL.Image.Image":
    """Give the image in a mode that WebP has; 16-bit grey is scaled, not cut off."""
    if image.mode.startswith("I;16"):
        return image.point(lambda value: value / 256).convert("L").convert("RGB")
    transparent = image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info
    return image.convert("RGBA" if transparent else "RGB")


def format_bytes(count: int) -> str:
    """Say a number of bytes for people.

    Example:
        >>> [format_bytes(count) for count in (812, 12_345, 4_200_000)]
        ['812 B', '12.3 kB', '4.2 MB']
    """
    if count < 1000:
        return f"{count} B"
    return f"{count / 1000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"
