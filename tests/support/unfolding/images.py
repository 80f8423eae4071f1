"""Images whose size is one of pixels, in a file that is small, and rows that show them."""

import io
import json
import struct
import zlib
from pathlib import Path

from support.unfolding.files import MB, save, writes


def _row_with(folder: Path, name: str, data: bytes) -> Path:
    """Write an image, and a row of JSON Lines that shows it."""
    (folder / name).write_bytes(data)
    row = {
        "messages": [
            {
                "role": "user",
                "content": [{"type": "image_url", "image_url": {"url": name}}, {"type": "text", "text": "What is it?"}],
            }
        ]
    }
    return save(folder, "a.jsonl", json.dumps(row).encode() + b"\n")


def _side(size: int, most: int = 16_383) -> tuple[int, int]:
    """Give sides of an image of about so many pixels."""
    width = min(most, 16_000, max(16, int(size**0.5) * 2))
    return width, max(1, min(most, size // width))


@writes
def write_webp(folder: Path, size: int) -> Path:
    import PIL.Image

    out = io.BytesIO()
    PIL.Image.new("RGB", _side(size)).save(out, "WEBP", quality=1, method=0)
    return _row_with(folder, "a.webp", out.getvalue())


@writes
def write_webp_lossless(folder: Path, size: int) -> Path:
    import PIL.Image

    out = io.BytesIO()
    PIL.Image.new("RGBA", _side(size), (1, 2, 3, 4)).save(out, "WEBP", lossless=True, quality=0, method=0)
    return _row_with(folder, "a.webp", out.getvalue())


@writes
def write_webp_frames(folder: Path, size: int) -> Path:
    import PIL.Image

    frames = [PIL.Image.new("RGB", (64, 64), (n % 256, n // 256, 0)) for n in range(min(10_000, size // 1000))]
    out = io.BytesIO()
    frames[0].save(out, "WEBP", save_all=True, append_images=frames[1:], quality=1, method=0)
    return _row_with(folder, "a.webp", out.getvalue())


@writes
def write_webp_large_frames(folder: Path, size: int) -> Path:
    import PIL.Image

    shape = _side(size)
    frames = [PIL.Image.new("RGB", shape, colour) for colour in ("red", "blue")]
    out = io.BytesIO()
    frames[0].save(out, "WEBP", save_all=True, append_images=frames[1:], quality=1, method=0)
    return _row_with(folder, "a.webp", out.getvalue())


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _png(width: int, height: int, depth: int, colour: int, bytes_a_pixel: int, interlaced: int = 0) -> bytes:
    packer = zlib.compressobj(1)
    row = bytes(1 + width * bytes_a_pixel)
    packed = b"".join([*(packer.compress(row) for _ in range(height + 8 * interlaced * height // 4)), packer.flush()])
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


@writes
def write_png_deep(folder: Path, size: int) -> Path:
    width, height = _side(size)
    return _row_with(folder, "a.png", _png(width, height, 16, 6, 8))


@writes
def write_png_giants(folder: Path, size: int) -> Path:
    """Twelve giants, each another one, in lines that are long enough for several workers."""
    width, height = _side(size)
    rows = []
    for number in range(12):
        (folder / f"a{number}.png").write_bytes(_png(width, height - number, 8, 2, 3))
        content = [
            {"type": "image_url", "image_url": {"url": f"a{number}.png"}},
            {"type": "text", "text": "?" * 6 * MB},
        ]
        rows.append(json.dumps({"messages": [{"role": "user", "content": content}]}).encode() + b"\n")
    return save(folder, "a.jsonl", *rows)


@writes
def write_png_interlaced(folder: Path, size: int) -> Path:
    width, height = _side(size)
    return _row_with(folder, "a.png", _png(width, height, 8, 6, 4, 1))


@writes
def write_apng_frames(folder: Path, size: int) -> Path:
    import PIL.Image

    frames = [PIL.Image.new("RGB", (64, 64), (n % 256, n // 256, 0)) for n in range(min(10_000, size // 1000))]
    out = io.BytesIO()
    frames[0].save(out, "PNG", save_all=True, append_images=frames[1:])
    return _row_with(folder, "a.png", out.getvalue())


@writes
def write_png_text(folder: Path, size: int) -> Path:
    data = _png(1, 1, 8, 2, 3)
    text = _chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(size), 1))
    return _row_with(folder, "a.png", data[:33] + text + data[33:])


@writes
def write_gif_frames(folder: Path, size: int) -> Path:
    import PIL.Image

    frames = [PIL.Image.new("L", (64, 64), n % 256) for n in range(min(10_000, size // 1000))]
    out = io.BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:], optimize=False)
    return _row_with(folder, "a.gif", out.getvalue())


@writes
def write_gif_large(folder: Path, size: int) -> Path:
    import PIL.Image

    shape = _side(size)
    frames = [PIL.Image.new("P", shape, n) for n in range(3)]
    out = io.BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:], optimize=False)
    return _row_with(folder, "a.gif", out.getvalue())


def _tiff(entries: list[tuple[int, int, int, int]], data: bytes, pages: int = 1) -> bytes:
    """Write a TIFF of pages that all show the same data."""
    out = bytearray(b"II*\0" + struct.pack("<I", 8))
    size = 2 + 12 * len(entries) + 4
    at = 8 + size * pages
    for page in range(pages):
        out += struct.pack("<H", len(entries))
        for tag, kind, count, value in entries:
            out += struct.pack("<HHII", tag, kind, count, value + (at if tag == 273 else 0))
        out += struct.pack("<I", 8 + size * (page + 1) if page + 1 < pages else 0)
    return bytes(out) + data


def build_tiff(width: int, height: int, compression: int, data: bytes, bits: int = 8, pages: int = 1) -> bytes:
    entries = [
        *((256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, bits), (259, 3, 1, compression), (262, 3, 1, 1)),
        *((273, 4, 1, 0), (277, 3, 1, 1), (278, 4, 1, height), (279, 4, 1, len(data))),
    ]
    return _tiff(entries, data, pages)


@writes
def write_tiff_strip(folder: Path, size: int) -> Path:
    """One strip as high as the image, of zeros that were deflated."""
    width, height = _side(size)
    packer = zlib.compressobj(9)
    packed = b"".join([*(packer.compress(bytes(width * 4)) for _ in range(height)), packer.flush()])
    entries = [
        *((256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, 32), (259, 3, 1, 8), (262, 3, 1, 1)),
        *((273, 4, 1, 0), (277, 3, 1, 1), (278, 4, 1, height), (279, 4, 1, len(packed)), (339, 3, 1, 3)),
    ]
    return _row_with(folder, "a.tiff", _tiff(entries, packed))


@writes
def write_tiff_pages(folder: Path, size: int) -> Path:
    return _row_with(folder, "a.tiff", build_tiff(8, 8, 1, bytes(64), pages=min(100_000, size // 1000)))


@writes
def write_tiff_rgba(folder: Path, size: int) -> Path:
    import PIL.Image

    out = io.BytesIO()
    PIL.Image.new("RGBA", _side(size)).save(out, "TIFF", compression="tiff_lzw")
    return _row_with(folder, "a.tiff", out.getvalue())


@writes
def write_tiff_ycbcr(folder: Path, size: int) -> Path:
    import PIL.Image

    out = io.BytesIO()
    PIL.Image.new("YCbCr", _side(size)).save(out, "TIFF", compression="jpeg")
    return _row_with(folder, "a.tiff", out.getvalue())


@writes
def write_jpeg_progressive(folder: Path, size: int) -> Path:
    import PIL.Image

    out = io.BytesIO()
    PIL.Image.new("RGB", _side(size)).save(out, "JPEG", quality=50, progressive=True, subsampling=0)
    return _row_with(folder, "a.jpg", out.getvalue())


@writes
def write_jpeg_cmyk(folder: Path, size: int) -> Path:
    import PIL.Image

    out = io.BytesIO()
    PIL.Image.new("CMYK", _side(size)).save(out, "JPEG", quality=50, progressive=True)
    return _row_with(folder, "a.jpg", out.getvalue())


@writes
def write_jpeg_scans(folder: Path, size: int) -> Path:
    """A progressive JPEG whose last scan stands there again and again, each a walk over the whole image."""
    import PIL.Image

    out = io.BytesIO()
    PIL.Image.new("L", _side(size)).save(out, "JPEG", quality=50, progressive=True)
    data = out.getvalue()
    start = data.rfind(b"\xff\xda")
    scan = data[start:-2]
    return _row_with(folder, "a.jpg", data[:-2] + scan * (min(15 * MB, size) // len(scan)) + data[-2:])


@writes
def write_bmp(folder: Path, size: int) -> Path:
    """Run-length coded, so that few bytes make many pixels."""
    width, height = _side(size)
    line = b"\xff\0" * (width // 255) + bytes([width % 255, 0]) * bool(width % 255) + b"\0\0"
    pixels = line * height + b"\0\1"
    head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 8, 1, len(pixels), 0, 0, 256, 0)
    start = 14 + 40 + 1024
    return _row_with(
        folder, "a.bmp", b"BM" + struct.pack("<IHHI", start + len(pixels), 0, 0, start) + head + bytes(1024) + pixels
    )


IMAGE_KINDS = ("webp", "png", "apng", "gif", "tiff", "jpeg", "bmp")
"""First words of the writers of images, whose size is one of pixels."""
