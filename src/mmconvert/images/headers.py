"""Format, size and wholeness of an image, read from its bytes without decoding.

One walker a format: magic, header, dimensions, then the chunks or segments up to the end marker. It finds cut files
and lying headers at the speed of memory; what only a decoder sees is left to `mmconvert.images.verify`.
"""

import struct
from collections.abc import Callable

from mmconvert.core.errors import RowError, show
from mmconvert.images.verify import MAX_PIXELS

Size = tuple[int, int]


def probe(data: bytes) -> tuple[str, int, int]:
    """Tell format, width and height of an image whose structure is whole.

    Args:
        data: The file's bytes, not empty.

    Returns:
        Format name (PNG, JPEG, GIF, WEBP, BMP, TIFF), width and height in pixels.

    Raises:
        RowError: `image.format` for anything else (SVG, PDF, HTML ... included), `image.truncated` for a
            file that ends early, `image.too_large` over `MAX_PIXELS`, `image.header` for a bad header.
    """
    for name, (matches, walk) in _WALKERS.items():
        if matches(data):
            try:
                width, height = walk(data)
            except (struct.error, IndexError):
                raise RowError("image.truncated", "", f"the {name} ends inside its header.") from None
            if width <= 0 or height <= 0:
                raise RowError("image.header", "", f"the {name} says it is {width} x {height} pixels.")
            if width * height > MAX_PIXELS:
                message = f"the {name} says it is {width} x {height} pixels; the limit is {MAX_PIXELS:,}."
                raise RowError("image.too_large", "", message)
            return name, width, height
    raise RowError("image.format", "", f"no PNG, JPEG, GIF, WebP, BMP or TIFF {show(data[:16])}.")


def looks_like_image(data: bytes) -> bool:
    """Tell by its beginning whether a file is an image of an allowed format, whole or not."""
    return any(matches(data) for matches, _ in _WALKERS.values())


def _build_cut_error(name: str) -> RowError:
    return RowError("image.truncated", "", f"the {name} ends before its end marker. Fetch the file again.")


def _read_png_size(data: bytes) -> Size:
    if data[12:16] != b"IHDR":
        raise RowError("image.header", "", "the PNG does not begin with its header chunk.")
    size: Size = struct.unpack_from(">II", data, 16)
    at, pixels = 8, False
    while True:
        if at + 12 > len(data):
            raise _build_cut_error("PNG")
        length, kind = struct.unpack_from(">I4s", data, at)
        at += 12 + length
        pixels = pixels or kind == b"IDAT"
        if kind == b"IEND":
            if at > len(data):
                raise _build_cut_error("PNG")
            if not pixels:
                raise RowError("image.header", "", "the PNG holds no pixels.")
            return size


_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_ALONE = frozenset(range(0xD0, 0xD9)) | {0x01}


def _read_jpeg_size(data: bytes) -> Size:
    at, size = 2, (0, 0)
    while True:
        if data[at] != 0xFF:
            raise RowError("image.header", "", "the JPEG's segments do not follow each other.")
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in _JPEG_ALONE:
            at += 2
        elif marker == 0xD9:
            raise RowError("image.header", "", "the JPEG holds no pixels.")
        else:
            length = data[at + 2] << 8 | data[at + 3]
            if marker in _JPEG_FRAMES:
                height, width = struct.unpack_from(">HH", data, at + 5)
                size = (width, height)
            at += 2 + length
            if marker == 0xDA:
                break
    # Entropy-coded data follows; inside it every FF is stuffed, so the end marker cannot be faked.
    if data.rfind(b"\xff\xd9") < at:
        raise _build_cut_error("JPEG")
    return size


def _read_gif_size(data: bytes) -> Size:
    size: Size = struct.unpack_from("<HH", data, 6)
    at = 13 + (3 << ((data[10] & 7) + 1) if data[10] & 0x80 else 0)
    frames = False
    while True:
        if at >= len(data):
            raise _build_cut_error("GIF")
        kind = data[at]
        if kind == 0x3B:
            if not frames:
                raise RowError("image.header", "", "the GIF holds no pixels.")
            return size
        if kind == 0x2C:
            if not frames:
                # Decoders enlarge the canvas to hold the first frame.
                left, top, width, height = struct.unpack_from("<HHHH", data, at + 1)
                size = (max(size[0], left + width), max(size[1], top + height))
            flags = data[at + 9]
            at += 11 + (3 << ((flags & 7) + 1) if flags & 0x80 else 0)
            frames = True
        elif kind == 0x21:
            at += 2
        else:
            raise RowError("image.header", "", "the GIF's blocks do not follow each other.")
        while data[at]:
            at += 1 + data[at]
        at += 1


def _read_webp_size(data: bytes) -> Size:
    (declared,) = struct.unpack_from("<I", data, 4)
    if declared + 8 > len(data):
        raise _build_cut_error("WebP")
    kind = data[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    raise RowError("image.header", "", f"the WebP begins with an unknown chunk {show(kind)}.")


def _read_bmp_size(data: bytes) -> Size:
    pixels, header = struct.unpack_from("<II", data, 10)
    if header == 12:
        width, height, _, depth = struct.unpack_from("<HHHH", data, 18)
        compression = 0
    else:
        width, height, _, depth, compression = struct.unpack_from("<iiHHI", data, 18)
        height = abs(height)
    # Run-length coded pixels have no size that the header tells.
    if compression not in (1, 2) and width > 0 and width * height <= MAX_PIXELS:
        row = (width * depth + 31) // 32 * 4
        if pixels + row * height > len(data):
            raise _build_cut_error("BMP")
    return width, height


def _read_tiff_size(data: bytes) -> Size:
    order = "<" if data[:2] == b"II" else ">"
    (at,) = struct.unpack_from(order + "I", data, 4)
    (count,) = struct.unpack_from(order + "H", data, at)
    width = height = 0
    for index in range(count):
        tag, kind, _, value = struct.unpack_from(order + "HHI4s", data, at + 2 + 12 * index)
        if tag in (256, 257):
            (number,) = struct.unpack(order + ("H" if kind == 3 else "I"), value[: 2 if kind == 3 else 4])
            width, height = (number, height) if tag == 256 else (width, number)
    return width, height


_WALKERS: dict[str, tuple[Callable[[bytes], bool], Callable[[bytes], Size]]] = {
    "JPEG": (lambda d: d[:3] == b"\xff\xd8\xff", _read_jpeg_size),
    "PNG": (lambda d: d[:8] == b"\x89PNG\r\n\x1a\n", _read_png_size),
    "GIF": (lambda d: d[:6] in (b"GIF87a", b"GIF89a"), _read_gif_size),
    "WEBP": (lambda d: d[:4] == b"RIFF" and d[8:12] == b"WEBP", _read_webp_size),
    "BMP": (lambda d: d[:2] == b"BM", _read_bmp_size),
    "TIFF": (lambda d: d[:4] in (b"II*\0", b"MM\0*"), _read_tiff_size),
}
