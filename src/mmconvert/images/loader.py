"""From a reference or base64 to the original bytes of a checked image; nothing is re-encoded.

Policy (the numbers are those of the project's policy for bad input): P6 base64 and data URLs, P7 allowed image formats
and sizes, P8 paths inside the image roots. Nothing is fetched unless a `fetch` is given.

Format, size and wholeness are read from the bytes without decoding, by one walker a format: magic, header,
dimensions, then the chunks or segments up to the end marker. It finds cut files and lying headers at the speed of
memory; what only a decoder sees is left to `mmconvert.images.verify`.
"""

import hashlib
import os
import posixpath
import re
import stat
import struct
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pybase64
from msgspec.structs import replace

from mmconvert.core.errors import RowError, quote_value, show
from mmconvert.core.plugin_struct import PluginStruct
from mmconvert.core.record import Image
from mmconvert.core.text.image_markers import NO_SAMPLING
from mmconvert.images.frames_ahead import Found, FramesAhead
from mmconvert.images.other_root import build_outside_error, find_other_root
from mmconvert.images.read_file import read_handle, read_image_file
from mmconvert.images.references import is_bare_base64, is_windows_place, try_plain_path
from mmconvert.images.stored_videos import open_stored_video
from mmconvert.images.verify import FORMATS, MAX_PIXELS, verify_decoded
from mmconvert.images.video import MOST_VIDEO_BYTES, WHOLE, Clip, FrameSampling, VideoFrames, extract_frames
from mmconvert.storage.beneath import open_resolved
from mmconvert.storage.object_store import StoreFolder, is_url
from mmconvert.storage.source_files import note_read_file, stamp_file

SUFFIXES = {"PNG": "png", "JPEG": "jpg", "GIF": "gif", "WEBP": "webp", "BMP": "bmp", "TIFF": "tiff"}
ENDINGS = frozenset(f".{suffix}" for suffix in (*SUFFIXES.values(), "jpeg", "tif"))
"""How names of images end, lower case."""

MIME_TYPES = {name: f"image/{name.lower()}" for name in FORMATS}
MAX_IMAGE_BYTES = 20 << 20

_OBJECT = ("bytes", "path", "url")
"""What an object that stands for an image may say, the first that is there counts."""

_DATA_URL = re.compile(r"data:([^,;]*)((?:;[^,;]*)*),", re.IGNORECASE)
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.\-]{1,20}):(?=//)")
_DRIVE = re.compile(r"[a-zA-Z]:")
_PLAIN_PATH = re.compile(r"[^/\\:\0.~][^/\\:\0]*(?:/[^/\\:\0.~][^/\\:\0]*)*")
"""A relative path as most sources write it: nothing else that a reference may be, and no other way to write it."""
_SPACE = dict.fromkeys(map(ord, " \t\n\r\x0b\x0c"))
_NO_BASE64 = re.compile(r"[^A-Za-z0-9+/=_\s-]", re.ASCII)
_URL_SAFE = str.maketrans("-_", "+/")


def decode_base64(text: str) -> bytes:
    r"""Decode base64 as images come in the wild, and nothing looser.

    Args:
        text: Standard or URL-safe alphabet (not both), padding optional, ASCII white space anywhere.

    Returns:
        The bytes.

    Raises:
        RowError: `image.base64`: any other character, or a length no base64 text has.

    Example:
        >>> decode_base64("aGk="), decode_base64(" aG\nk"), decode_base64("-_8=")
        (b'hi', b'hi', b'\xfb\xff')
    """
    try:
        return pybase64.b64decode(text, validate=True)
    except ValueError:
        return _decode_loose_base64(text)


def decode_plain_base64(data: bytes | memoryview) -> bytes | None:
    """Decode base64 of the standard alphabet without white space; None for any other text, which may be good too."""
    try:
        return pybase64.b64decode(data, validate=True)
    except ValueError:
        return None


def _decode_loose_base64(text: str) -> bytes:
    given, text = text, text.translate(_SPACE)
    if "-" in text or "_" in text:
        if "+" in text or "/" in text:
            raise RowError("image.base64", "", "the base64 mixes the standard and the URL-safe alphabet.")
        text = text.translate(_URL_SAFE)
    text = text.rstrip("=")
    text += "=" * (-len(text) % 4)
    try:
        return pybase64.b64decode(text, validate=True)
    except ValueError:
        strange = _NO_BASE64.search(given)
        at = f": character {strange.start() + 1:,} is {strange[0]!r}" if strange else ""
        raise RowError("image.base64", "", f"this is not base64{at} {show(given)}.") from None


def decode_data_url(url: str) -> bytes:
    """Decode the payload of `data:image/...;base64,...`.

    Scheme and type are case-insensitive, parameters are allowed; the type may be empty. The bytes, not
    the declared type, later decide the format.

    Raises:
        RowError: `image.data_url`: not an image type, not base64, or empty; `image.base64`.
    """
    match = _DATA_URL.match(url)
    if match is None:
        raise RowError("image.data_url", "", f"a data URL needs a comma before its payload {show(url)}.")
    mime, parameters = match[1].strip().lower(), match[2].lower()
    if mime and not mime.startswith("image/"):
        raise RowError("image.data_url", "", f"a data URL of type {quote_value(mime)} is not an image.")
    if ";base64" not in parameters:
        raise RowError("image.data_url", "", "a data URL must be base64 encoded.")
    payload = url[match.end() :]
    if not payload.strip():
        raise RowError("image.empty", "", "the data URL holds no bytes.")
    return decode_base64(payload)


def is_data_url(text: str) -> bool:
    """Tell a data URL from a path or an address.

    Example:
        >>> is_data_url("DATA:image/png;base64,iVBO"), is_data_url("data/cat.png")
        (True, False)
    """
    return text[:5].lower() == "data:"


def is_relative_path(text: str) -> bool:
    """Tell a path that counts from a folder from an absolute one, a data URL and an address.

    Example:
        >>> is_relative_path("coco/1.jpg"), is_relative_path("/coco/1.jpg"), is_relative_path("https://a.example/1.jpg")
        (True, False, False)
    """
    return not (text.startswith("/") or is_data_url(text) or _SCHEME.match(text))


def read_declared_format(url: str) -> str | None:
    """Give the image format a data URL claims, None when it claims none that is allowed."""
    match = _DATA_URL.match(url)
    subtype = match[1].strip().lower().removeprefix("image/").removeprefix("x-ms-") if match else ""
    return {"jpg": "JPEG", "tif": "TIFF"}.get(subtype) or (subtype.upper() if subtype.upper() in FORMATS else None)


class ImageLoader(PluginStruct, frozen=True):
    """Finds images, checks them, and refuses everything outside its roots.

    Attributes:
        roots: Folders, resolved; a relative path is looked up in them in order.
        stores: Folders of object stores, where it is looked up then.
        decode: Decode every image once, beside the structure check.
        max_bytes: Largest image in bytes.
        keep_urls: Keep http(s) addresses as references without bytes.
        fetch: Gives the bytes that stand at an http(s) address, None to refuse them.
        sampling: Which frames of a video are taken, None to take none.
        latest: The video that was read last and its frames: rows about one often follow each other.
        ahead: Videos that rows to come have asked for; None where each is read when its row is.
        wish: Told of a video in the place of taking frames, of which it then has none.
        hashed: Give `Image.sha256`, which takes as long as all other checks together.
    """

    roots: tuple[Path, ...]
    decode: bool = False
    max_bytes: int = MAX_IMAGE_BYTES
    keep_urls: bool = False
    fetch: Callable[[str], bytes] | None = None
    stores: tuple[StoreFolder, ...] = ()
    sampling: FrameSampling | None = None
    latest: dict[tuple[Any, ...], VideoFrames | RowError] = msgspec.field(default_factory=dict)
    ahead: FramesAhead | None = None
    wish: Callable[[str, Clip, Callable[[], Found]], None] | None = None
    hashed: bool = True

    @classmethod
    def within(cls, roots: Sequence[str | Path], **options: Any) -> "ImageLoader":
        """Make a finder over folders and URLs of such; folders are resolved once, so that links in them are known."""
        stores = tuple(StoreFolder(str(root)) for root in roots if is_url(str(root)))
        folders = tuple(Path(root).resolve() for root in roots if not is_url(str(root)))
        return cls(folders, stores=stores, **options)

    def of_bytes(self, data: bytes, slot: int, name: str | None = None, detail: str | None = None) -> Image:
        """Check bytes and describe them.

        Raises:
            RowError: Codes `image.empty`, `image.format`, `image.truncated`, `image.too_large`, ...
        """
        if not data:
            raise RowError("image.empty", "", "the image holds no bytes.")
        if len(data) > self.max_bytes:
            told = f"over the limit of {self.max_bytes / 2**20:g} MiB. See --max-image-mb."
            raise RowError("image.too_large", "", f"the image has {len(data):,} bytes, {told}")
        kind, width, height = probe(data)
        if self.decode:
            verify_decoded(data)
        digest = hashlib.sha256(data).hexdigest() if self.hashed else ""
        return Image(data, slot, name, digest, kind, width, height, detail)

    def of_base64(self, text: str, slot: int, name: str | None = None) -> Image:
        """Decode base64 and check the image; see `of_bytes` for the errors."""
        return self.of_bytes(decode_base64(text), slot, name)

    def of_reference(self, text: str, slot: int, detail: str | None = None) -> Image:
        """Resolve what a source wrote for an image: a data URL, a path or an address.

        Raises:
            RowError: `image.remote` for an address that may not be fetched, `image.path` for a path that
                is no plain path or leaves the roots, `image.missing`, and the codes of `fetch` and `of_bytes`.
        """
        if self.roots and _PLAIN_PATH.fullmatch(text) and (data := self._read_below_root(text, text)) is not None:
            return self.of_bytes(data, slot, text, detail)
        if is_data_url(text):
            return self.of_bytes(decode_data_url(text), slot, detail=detail)
        scheme = _SCHEME.match(text)
        if scheme and scheme[1].lower() in ("http", "https"):
            if self.keep_urls:
                return Image(None, slot, detail=detail, url=text)
            if self.fetch is not None:
                return replace(self.of_bytes(self.fetch(text), slot, detail=detail), url=text)
            message = f"an image on the network is not fetched {show(text)}. See --allow-remote and --keep-urls."
            raise RowError("image.remote", "", message)
        data, name = try_plain_path(self._read_file, text)
        return self.of_bytes(data, slot, name, detail)

    def of_value(self, value: Any, slot: int, detail: str | None = None) -> Image:
        """Load an image that may be a reference, bytes, or an object with `bytes` (base64 in JSON), `path` or `url`.

        Raises:
            RowError: `image.type`: it is none of these; the codes of `of_reference`.
        """
        if isinstance(value, dict):
            data = value.get("bytes")
            if isinstance(data, str) and not is_data_url(data):
                return self.of_bytes(decode_base64(data), slot, detail=detail)
            found = next((value[key] for key in _OBJECT if value.get(key) is not None), None)
            value = value if found is None else found
        if isinstance(value, bytes):
            return self.of_bytes(value, slot, detail=detail)
        if not isinstance(value, str):
            message = f"expected a path, a data URL, or an object with bytes or path {show(value)}."
            raise RowError("image.type", "", message)
        if is_bare_base64(value):
            return self.of_base64(value, slot)
        return self.of_reference(value, slot, detail)

    def of_video(self, value: Any, slot: int, clip: Clip = WHOLE) -> tuple[tuple[Image, ...], int]:
        """Take frames out of a video: a path, or an object with `bytes`, `path` or `url`.

        Args:
            value: What a source wrote for it.
            slot: Number of the first frame, from 1; the others follow.
            clip: The piece of it that is meant.

        Returns:
            The frames, and how many were asked for.

        Raises:
            RowError: `video.type`, `video.remote`, `video.path`, `video.missing`, and the codes of `extract_frames`.
        """
        if isinstance(value, dict):
            value = next((value[key] for key in _OBJECT if value.get(key) is not None), value)
        if self.wish is not None:
            if isinstance(value, str):
                self.wish(value, clip, partial(self._extract_file, value, clip))
            return (), 0
        if isinstance(value, bytes):
            with tempfile.TemporaryFile() as file:
                file.write(value)
                file.flush()
                found, name = self._extract(file.fileno(), None, clip), None
        elif isinstance(value, str):
            known = None if self.ahead is None else self.ahead.take(value, clip)
            found, name = known or self._extract_file(value, clip)
        else:
            raise RowError("video.type", "", f"expected a path, or an object with bytes or path {show(value)}.")
        frames = [
            replace(self.of_bytes(data, slot + number), time=time, source_name=name)
            for number, (data, time) in enumerate(found.frames)
        ]
        return tuple(frames), found.asked

    def _extract_file(self, text: str, clip: Clip) -> tuple[VideoFrames, str]:
        scheme = "data" if is_data_url(text) else (_SCHEME.match(text) or ("", ""))[1].lower()
        if scheme:
            message = f"{scheme}: addresses of videos are not read {show(text)}. Download it, and give its path."
            raise RowError("video.remote", "", message)
        try:
            path, name = try_plain_path(self.find, text)
            handle = open_resolved(str(path))
        except RowError as error:
            missing = error.code == "image.missing"
            if missing and (stored := open_stored_video(self.stores, text, MOST_VIDEO_BYTES)) is not None:
                with stored.copy.lock:
                    return self._extract(stored.copy.file.fileno(), (stored.url, 0), clip), stored.name
            raise RowError(f"video.{error.code.partition('.')[2]}", "", error.message) from None
        except OSError as error:
            message = f"the file cannot be read ({error.strerror}) {show(text)}. Repair it, or its permissions."
            raise RowError("video.missing", "", message) from None
        try:
            before = os.fstat(handle)
            if not stat.S_ISREG(before.st_mode):
                raise RowError("video.path", "", f"not a regular file {show(text)}. Name the video's own file.")
            found = self._extract(handle, (str(path), stamp_file(before)), clip)
            note_read_file(str(path), before, os.fstat(handle))
        finally:
            os.close(handle)
        return found, name

    def _extract(self, handle: int, key: tuple[str, int] | None, clip: Clip) -> VideoFrames:
        """Take the frames of an open video, those of the latest one from memory where it is the same."""
        if self.sampling is None:
            raise RowError("media.unsupported", "", NO_SAMPLING)
        place = (key, self.sampling, clip)
        known = self.latest.get(place) if key is not None else None
        if isinstance(known, VideoFrames):
            return known
        if (error := known) is not None:
            raise RowError(error.code, error.field, error.message)
        if (size := os.fstat(handle).st_size) > MOST_VIDEO_BYTES:
            message = f"the video has {size:,} bytes, over the limit of {MOST_VIDEO_BYTES >> 30} GiB. Make it smaller."
            raise RowError("video.too_large", "", message)
        self.latest.clear()
        try:
            found = extract_frames(handle, self.sampling, clip)
        except RowError as refusal:
            # One that takes its whole time is not tried again for each of its rows.
            self.latest[place] = refusal
            raise
        self.latest[place] = found
        return found

    def _read_file(self, text: str) -> tuple[bytes, str]:
        plain = self._find_plain(text)
        if plain is not None:
            return plain
        try:
            path, name = self.find(text)
        except RowError as error:
            found = self._read_stored(text) if error.code == "image.missing" else None
            if found is None:
                raise
            return found
        return read_image_file(str(path), text, self.max_bytes), name

    def _find_plain(self, text: str) -> tuple[bytes, str] | None:
        """Read a file of the first root that is reached without a link; None for one that wants a closer look."""
        if not self.roots or not text or text[0] in "/~" or "\0" in text or "\\" in text or _DRIVE.match(text):
            return None
        name = posixpath.normpath(text)
        if name == ".." or name.startswith("../"):
            return None
        data = self._read_below_root(name, text)
        return None if data is None else (data, name)

    def _read_below_root(self, name: str, text: str) -> bytes | None:
        root = str(self.roots[0])
        place = f"{root}{name}" if root.endswith(os.sep) else f"{root}/{name}"
        try:
            handle = open_resolved(place)
        except (OSError, ValueError):
            return None
        return read_handle(handle, place, text, self.max_bytes)

    def _read_stored(self, text: str) -> tuple[bytes, str] | None:
        name = posixpath.normpath(text)
        if self.stores and (name == ".." or name.startswith(("/", "../"))):
            raise build_outside_error(text, ENDINGS)
        for store in self.stores:
            data = store.read(name, self.max_bytes + 1)
            if data is not None:
                return data, name
        return None

    def find(self, text: str) -> tuple[Path, str]:
        """Find the file of a path inside the roots.

        Args:
            text: Relative POSIX path, or an absolute one that lies inside a root.

        Returns:
            The resolved path, and the path inside its root as the source wrote it.

        Raises:
            RowError: `image.path` or `image.missing`.
        """
        if scheme := _SCHEME.match(text):
            message = f"{scheme[1].lower()}: addresses are not read {show(text)}. Give a relative path."
            raise RowError("image.path", "", message)
        # A drive of this machine is on Windows alone.
        drive = _DRIVE.match(text) is not None and not os.path.isabs(text)
        if not text or "\0" in text or "\\" in text or text.startswith(("~", "//")) or drive:
            kind = "a path of a Windows drive or server" if is_windows_place(text) else "not a plain relative path"
            message = f"{kind} {show(text)}. Write it from the image root on, with / between folders."
            raise RowError("image.path", "", message)
        outside = False
        for root in self.roots:
            candidate = Path(os.path.normpath(root / text))
            try:
                resolved = candidate.resolve(strict=True)
            except (OSError, RuntimeError, ValueError):
                # normpath has settled the ".."s; a path that left the root is refused, not "missing"
                outside = outside or not candidate.is_relative_to(root)
                continue
            # An absolute path may come to the root by a link (macOS: /tmp is one).
            inside = resolved if os.path.isabs(text) and not candidate.is_relative_to(root) else candidate
            if resolved.is_relative_to(root) and inside.is_relative_to(root):
                return resolved, inside.relative_to(root).as_posix()
            outside = True
        if outside:
            raise build_outside_error(text, ENDINGS)
        roots = ", ".join([*map(str, self.roots), *(store.url for store in self.stores)]) or "(none given)"
        found = find_other_root(self.roots[0], text) if self.roots else None
        place = "its folder: --image-root ." if found is None else f"the folder that has it: --image-root={found}"
        raise RowError("image.missing", "", f"no such file under the image root {roots} {show(text)}. Give {place}")


Pictures = ImageLoader  # the name that plug-ins know from before the first release
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
