"""Images, videos and sounds of a raw row, and the placeholders that show them, as EvalScope reads them.

A row keeps them in `image_1`, `video_1`, `audio_1` and so on, since 1.14 also in lists `images`,
`videos`, `audios`. A text shows them by `<image 1>` or `<image_1>`. A part is the framework's own:
`{"type": "text", "text"}`, `{"type": "image", "image", "detail"}`, `{"type": "video", "video", "format"}`,
`{"type": "audio", "audio", "format"}`.

Parity: modelscope/evalscope 1.3.0, 1.10.0, 1.14.1 evalscope/benchmarks/general_vmcq,
evalscope/api/messages. No release stops at a placeholder without its image, as its documents say:
1.3 refuses the row, later ones drop the placeholder.
"""

import base64
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import PurePosixPath
from typing import Any

from mmconvert.core.errors import RowError, show
from mmconvert.images.headers import probe
from mmconvert.kits.evalscope.release import Release

Row = Mapping[str, Any]
Part = dict[str, Any]

MAX_SLOT = 100
"""Columns are looked up to `image_100`; lists go on."""

VIDEO_FORMATS = ("mp4", "mpeg", "mov", "avi")
AUDIO_FORMATS = ("wav", "mp3")
KINDS = {"1.3.0": ("image",), "1.10.0": ("image", "video"), "1.14.1": ("image", "video", "audio")}
"""What each release has placeholders for."""

_PLACEHOLDERS = {release: re.compile(rf"<({'|'.join(kinds)})[ _](\d+)>") for release, kinds in KINDS.items()}
_REFERENCES = ("path", "url", "data", "image", "video", "audio")
_TIMES = ("start", "end", "fps")


def split_parts(text: str, row: Row, release: Release) -> list[Part]:
    """Cut a text at its placeholders.

    Args:
        text: The text; pieces that are blank are left out, the others keep their white space.
        row: The row that has the media.
        release: Whose rule for a placeholder without media is wanted.

    Returns:
        The parts in reading order, repeats kept.

    Raises:
        RowError: `placeholder.no_image` (1.3.0 only) or `media.type`.

    Example:
        >>> split_parts("Is <image 1> red? <image_7>", {"image_1": "a.png"}, "1.14.1")
        [{'type': 'text', 'text': 'Is '}, {'type': 'image', 'image': 'a.png', 'detail': 'auto'}, \
{'type': 'text', 'text': ' red? '}]
    """
    find = _FINDERS[release](row)
    parts: list[Part] = []
    at = 0
    for match in _PLACEHOLDERS[release].finditer(text):
        parts += _build_text_part(text[at : match.start()])
        part = find(match[1], _parse_slot(match[2]))
        if part is not None:
            parts.append(part)
        at = match.end()
    return parts + _build_text_part(text[at:])


def has_placeholder(text: str, release: Release) -> bool:
    """Tell whether a text has a placeholder that the release knows.

    Example:
        >>> has_placeholder("<video 1>", "1.14.1"), has_placeholder("<video 1>", "1.3.0")
        (True, False)
    """
    return _PLACEHOLDERS[release].search(text) is not None


def drop_unused_placeholders(text: str, row: Row, release: Release) -> str:
    """Cut the placeholders out of a text that show nothing; spell the others `<image k>`.

    Raises:
        RowError: `media.unsupported`: a video or a sound is shown; and as for `split_parts`.

    Example:
        >>> drop_unused_placeholders("Is <image_01> red? <image 7>", {"image_1": "a.png"}, "1.14.1")
        'Is <image 1> red? '
    """
    find = _FINDERS[release](row)

    def spelled(match: re.Match[str]) -> str:
        slot = _parse_slot(match[2])
        if find(match[1], slot) is None:
            return ""
        if match[1] != "image":
            raise RowError("media.unsupported", f"{match[1]}_{slot}", "only images are supported. Leave the row out.")
        return f"<image {slot}>"

    return _PLACEHOLDERS[release].sub(spelled, text)


def gather_images(row: Row) -> dict[int, str]:
    """Gather the images of a row by number as 1.14 does, whether a text shows them or not.

    Raises:
        RowError: `media.type`.

    Example:
        >>> gather_images({"images": ["a.png", "", {"path": "c.png"}]})
        {1: 'a.png', 3: 'c.png'}
    """
    return {slot: part["image"] for slot, part in _collect_media("image", row).items()}


def build_image_part(reference: Any, detail: Any = "auto") -> Part:
    """Make an image part, checked as the framework's own class checks it.

    Raises:
        RowError: `media.type`: the reference is not a text, or the detail is none of auto, low, high.
    """
    if not isinstance(reference, str):
        raise RowError("media.type", "image", f"expected a path, an address or a data URL {show(reference)}.")
    return {"type": "image", "image": reference, "detail": _check_choice(detail, ("auto", "low", "high"), "detail")}


def build_video_part(reference: Any, given: Row, format: Any = None) -> Part:
    """Make a video part.

    Args:
        reference: Path or address.
        given: May hold `format`, `start`, `end` and `fps`.
        format: Format from elsewhere, which wins; None takes the given one, else the ending, else mp4.

    Raises:
        RowError: `media.type`: the reference is not a text, the format unknown, or a time no number.
    """
    if not isinstance(reference, str):
        raise RowError("media.type", "video", f"expected a path or an address {show(reference)}.")
    format = format or given.get("format") or _read_suffix(reference, VIDEO_FORMATS)
    part: Part = {"type": "video", "video": reference, "format": _check_choice(format, VIDEO_FORMATS, "format")}
    for name in _TIMES:
        if given.get(name) is not None:
            part[name] = _read_seconds(given[name], name)
    return part


def build_audio_part(reference: Any, format: Any) -> Part:
    """Make an audio part.

    Raises:
        RowError: `media.type`: the reference is not a text, or the format is neither wav nor mp3.
    """
    if not isinstance(reference, str):
        raise RowError("media.type", "audio", f"expected a path or base64 {show(reference)}.")
    return {"type": "audio", "audio": reference, "format": _check_choice(format, AUDIO_FORMATS, "format")}


def _build_text_part(piece: str) -> list[Part]:
    return [{"type": "text", "text": piece}] if piece.strip() else []


def _parse_slot(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        raise RowError(
            "placeholder.syntax", "", f"a placeholder's number has too many digits {show(digits)}."
        ) from None


Finder = Callable[[str, int], Part | None]


def _build_finder_1_3(row: Row) -> Finder:
    def find(_: str, slot: int) -> Part | None:
        if not 1 <= slot <= MAX_SLOT:
            return None
        if row.get(f"image_{slot}") is None:
            raise RowError("placeholder.no_image", f"image_{slot}", "the text names an image that the row has not.")
        return build_image_part(row[f"image_{slot}"])

    return find


def _build_finder_1_10(row: Row) -> Finder:
    def find(kind: str, slot: int) -> Part | None:
        value = row.get(f"{kind}_{slot}") if 1 <= slot <= MAX_SLOT else None
        if not value:
            return None
        if kind == "image":
            return build_image_part(value)
        return build_video_part(str(value), {}, row.get(f"{kind}_{slot}_format"))

    return find


def _build_finder_1_14(row: Row) -> Finder:
    media = {kind: _collect_media(kind, row) for kind in KINDS["1.14.1"]}
    return lambda kind, slot: media[kind].get(slot)


def _collect_media(kind: str, row: Row) -> dict[int, Part]:
    """Gather the media of one kind: numbered columns, or the list where there are none; every entry is checked."""
    numbered = {slot: row.get(f"{kind}_{slot}") for slot in range(1, MAX_SLOT + 1)}
    found = {slot: value for slot, value in numbered.items() if not _is_missing(value)}
    if not found and not _is_missing(listed := row.get(f"{kind}s")):
        if not isinstance(listed, list):
            raise RowError("media.type", f"{kind}s", f"expected a list {show(listed)}.")
        found = {slot: value for slot, value in enumerate(listed, 1) if not _is_missing(value)}
    return {slot: _MAKERS[kind](value, row.get(f"{kind}_{slot}_format")) for slot, value in found.items()}


def _is_missing(value: Any) -> bool:
    return value is None or value == ""


def _read_image(value: Any, _: Any) -> Part:
    return build_image_part(_read_reference(value))


def _read_video(value: Any, format: Any) -> Part:
    return build_video_part(_read_reference(value), value if isinstance(value, Mapping) else {}, format)


def _read_audio(value: Any, format: Any) -> Part:
    reference = _read_reference(value)
    own = value.get("format") if isinstance(value, Mapping) else None
    return build_audio_part(reference, format or own or _read_suffix(reference, AUDIO_FORMATS))


def _read_reference(value: Any) -> str:
    """Read a cell that is a text, or an object with the bytes or with a reference."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        data = value.get("bytes")
        if isinstance(data, bytes) and data:
            return f"data:image/{probe(data)[0].lower()};base64,{base64.b64encode(data).decode()}"
        for name in _REFERENCES:
            if isinstance(value.get(name), str) and value[name]:
                return str(value[name])
    raise RowError("media.type", "", f"expected a text or an object with bytes, path or url {show(value)}.")


def _read_suffix(reference: str, formats: tuple[str, ...]) -> str:
    """Read the format off a name; the first one where the name does not tell."""
    ending = PurePosixPath(reference).suffix.removeprefix(".").lower()
    return ending if ending in formats else formats[0]


def _check_choice(value: Any, known: Collection[str], field: str) -> str:
    if not isinstance(value, str) or value not in known:
        raise RowError("media.type", field, f"expected one of {', '.join(known)} {show(value)}.")
    return value


def _read_seconds(value: Any, field: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise RowError("media.type", field, f"expected a number {show(value)}.") from None


_FINDERS: dict[Release, Callable[[Row], Finder]] = {
    "1.3.0": _build_finder_1_3,
    "1.10.0": _build_finder_1_10,
    "1.14.1": _build_finder_1_14,
}
_MAKERS: dict[str, Callable[[Any, Any], Part]] = {"image": _read_image, "video": _read_video, "audio": _read_audio}
