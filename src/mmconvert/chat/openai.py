"""OpenAI's chat messages as JSON: roles, parts and images, read and written; Anthropic's image parts are read."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mmconvert.chat.conversations import TOOL_ROLES, list_objects
from mmconvert.chat.export_images import store_image, write_image_path
from mmconvert.chat.videos import load_frames, read_clip
from mmconvert.core.errors import RowError, UsageError, in_field, quote_value, show
from mmconvert.core.record import Image, Part, Turn
from mmconvert.core.text.image_markers import NO_SAMPLING, escape
from mmconvert.images.video import Clip
from mmconvert.plugins.format import Context, Target

ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_OWN = {"role", "content"}
_MEDIA = ("input_audio", "file", "audio_url", "document", "tool_use", "tool_result")
_SOURCE = "source"
_SOURCES = {"base64": "data", "url": "url"}
"""Type of the source of Anthropic's image part -> the key of its value."""
_OWN_MEDIA = ("image", "video", "url", "path", "base64")
"""Keys of an image or video part that the processors of transformers take."""


def read_plain_turn(message: Mapping[str, Any]) -> Turn | None:
    """Read a message that is only a text in a role of ours, as most are; None for any other.

    Example:
        >>> read_plain_turn({"role": "user", "content": "Why?"})
        Turn(role='user', content=(Part(type='text', text='Why?'),))
        >>> read_plain_turn({"role": "developer", "content": "Be brief."})
    """
    role, text = message.get("role"), message.get("content")
    if len(message) == 2 and type(text) is str and type(role) is str and ROLES.get(role) == role:
        return Turn(role, (Part("text", text),))
    return None


def read_message(message: Mapping[str, Any], where: str) -> tuple[str, Any, dict[str, Any]]:
    """Give role, content and further fields of a message.

    Args:
        message: The message as the source has it.
        where: Its place, for messages of errors.

    Returns:
        The role of the turn, the content untouched, and the fields that have no place in a turn;
        `role` is among them where OpenAI's word is another than ours.

    Raises:
        RowError: `media.unsupported` for tool calls, `messages.role`.
    """
    plain = message.keys() == _OWN
    if not plain and (message.get("tool_calls") or message.get("function_call")):
        raise RowError("media.unsupported", where, "tool calls are not supported yet. Leave the row out.")
    word = message.get("role")
    role = ROLES.get(word) if isinstance(word, str) else None
    if role is None:
        if isinstance(word, str) and word in TOOL_ROLES:
            raise RowError("media.unsupported", where, "tool calls are not supported yet. Leave the row out.")
        raise RowError("messages.role", f"{where}.role", f"expected system, user or assistant {show(word)}.")
    extra = {} if plain else {name: value for name, value in message.items() if name not in _OWN}
    if role != word:
        extra["role"] = word
    return role, message.get("content"), extra


def read_content(
    content: Any, where: str, shown_before: int, context: Context
) -> tuple[tuple[Part, ...], tuple[Image, ...]]:
    """Read a text, or a list of text, image_url, image and video_url parts, frames in the place of a video.

    Args:
        content: The content as the source has it.
        where: Place of its message.
        shown_before: How many images earlier messages show.
        context: Where images lie.

    Raises:
        RowError: `messages.content`, `messages.part`, `media.unsupported`, or the codes of images.
    """
    if isinstance(content, str):
        return (Part("text", content),), ()
    if not isinstance(content, list):
        raise RowError("messages.content", f"{where}.content", f"expected a text or a list of parts {show(content)}.")
    parts: list[Part] = []
    images: list[Image] = []
    for position, part in enumerate(content):
        if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str):
            parts.append(Part("text", part["text"]))
            continue
        shown = _read_shown_part(part, f"{where}.content[{position}]", shown_before + len(images) + 1, context)
        parts += [Part("image")] * len(shown)
        images += shown
    return tuple(parts), tuple(images)


def _read_shown_part(part: Any, field: str, slot: int, context: Context) -> tuple[Image, ...]:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "image_url":
        value = part.get("image_url")
        url, detail = (value.get("url"), value.get("detail")) if isinstance(value, dict) else (value, None)
        if not isinstance(url, str) or not (detail is None or isinstance(detail, str)):
            raise RowError("messages.part", f"{field}.image_url", f"expected {{'url': ...}} {show(value)}.")
        with in_field(f"{field}.image_url"):
            return (context.images.of_reference(url, slot, detail),)
    if kind == "image":
        return (_read_image_part(part, field, slot, context),)
    if kind == "video_url":
        return _read_video_part(part.get("video_url"), f"{field}.video_url", slot, context)
    if kind == "video" and (key := find_own_key(part)) is not None:
        return _read_video_part({**part, "url": part[key]}, f"{field}.{key}", slot, context)
    if kind in _MEDIA:
        raise RowError(
            "media.unsupported", field, f"parts of type {quote_value(kind)} are not supported. Leave the row out."
        )
    raise RowError("messages.part", field, f"expected a text or image_url part {show(part)}.")


def _read_image_part(part: Mapping[str, Any], field: str, slot: int, context: Context) -> Image:
    """Read an image part as Anthropic writes it, or as the processors of transformers take it."""
    key = find_own_key(part)
    if key is None:
        raise RowError("messages.part", field, f"expected an image part with 'source', 'image' or 'url' {show(part)}.")
    value = part[key]
    if key != _SOURCE:
        with in_field(f"{field}.{key}"):
            return context.images.of_value(value, slot)
    given = value if isinstance(value, dict) else {}
    name = _SOURCES.get(str(given.get("type")), "")
    if not isinstance(text := given.get(name), str):
        expected = "expected {'type': 'base64', 'data': ...} or {'type': 'url', 'url': ...}"
        raise RowError("messages.part", f"{field}.{key}", f"{expected} {show(value)}.")
    with in_field(f"{field}.{key}.{name}"):
        return (context.images.of_base64 if name == "data" else context.images.of_reference)(text, slot)


def find_own_key(part: Mapping[str, Any]) -> str | None:
    """Name the key under which a part brings its image or video itself, None where it stands for the row's next one.

    Example:
        >>> find_own_key({"type": "image", "source": {"type": "url"}}), find_own_key({"type": "image", "text": ""})
        ('source', None)
    """
    return next((name for name in (_SOURCE, *_OWN_MEDIA) if part.get(name) is not None), None)


def list_own_keys(messages: Any) -> set[str | None]:
    """List what `find_own_key` gives for the image and video parts of messages, for telling formats apart."""
    contents = [message.get("content") for message in list_objects(messages)]
    parts = [part for content in contents for part in list_objects(content)]
    return {find_own_key(part) for part in parts if part.get("type") in ("image", "video")}


def _read_video_part(value: Any, field: str, slot: int, context: Context) -> tuple[Image, ...]:
    given = value if isinstance(value, dict) else {"url": value}
    if not isinstance(given.get("url"), str):
        raise RowError("messages.part", field, f"expected {{'url': ...}} {show(value)}.")
    if context.images.sampling is None:
        raise RowError("media.unsupported", field, NO_SAMPLING)
    if given.get("fps") is not None:
        context.warn("the fps of a video part is ignored: --frames or --fps applies to all videos")
    with in_field(field):
        return load_frames(given["url"], slot, context, read_part_clip(given))


def read_part_clip(part: Mapping[str, Any]) -> Clip:
    """Read the seconds of its video that a part is about, as EvalScope (`start`) and Qwen (`video_start`) write them.

    Raises:
        RowError: The codes of `read_clip`.
    """
    start, end = (part.get(name, part.get(f"video_{name}")) for name in ("start", "end"))
    return read_clip(start, end)


def ends_with_assistant(messages: Any) -> bool:
    """Tell whether a list of messages has the assistant's words last.

    Example:
        >>> ends_with_assistant([{"role": "user"}, {"role": "assistant"}]), ends_with_assistant("[]")
        (True, False)
    """
    last = messages[-1] if isinstance(messages, list) and messages else None
    return isinstance(last, dict) and last.get("role") == "assistant"


def list_part_types(messages: Any) -> set[str]:
    """List the types of the parts of messages, for telling formats apart.

    Example:
        >>> list_part_types([{"role": "user", "content": [{"type": "image"}]}, {"role": "assistant", "content": "A"}])
        {'image'}
    """
    contents = [message.get("content") for message in list_objects(messages)]
    return {str(part.get("type")) for content in contents for part in list_objects(content)}


def holds_part_values(messages: Any) -> bool:
    """Tell messages whose parts hold their content in `value`, as LLaMA-Factory v1 writes them, from OpenAI's.

    Example:
        >>> holds_part_values([{"role": "user", "content": [{"type": "text", "value": "Why?"}]}])
        True
        >>> holds_part_values([{"role": "user", "content": [{"type": "text", "text": "Why?"}]}]), holds_part_values([])
        (False, False)
    """
    contents = [list_objects(message.get("content")) for message in list_objects(messages)]
    return bool(contents) and all(
        parts and all({"type", "value"} <= part.keys() for part in parts) for parts in contents
    )


def build_valued_messages(
    turns: Iterable[Turn],
    extras: Iterable[Mapping[str, Any]],
    images: Iterator[Image],
    target: Target,
    marks: tuple[str, ...] = (),
) -> list[dict[str, Any]]:
    """Write turns as messages whose parts hold their content in `value`, as LLaMA-Factory v1 reads them.

    Args:
        turns: The turns.
        extras: Further fields of each.
        images: Gives the next image; one is taken for each image part and stored as a file, or as its address.
        target: Where files of images are written.
        marks: Words whose markers in texts are escaped, because the form reads them as images.
    """

    def build(part: Part) -> dict[str, str]:
        if part.type == "text":
            return {"type": "text", "value": escape(part.text, marks) if marks else part.text}
        image = next(images)
        value = image.url if image.bytes is None and image.url is not None else write_image_path(image, target)
        return {"type": "image_url", "value": value}

    return [
        {"role": turn.role, "content": [*map(build, turn.content)] or [{"type": "text", "value": ""}], **more}
        for turn, more in zip(turns, extras, strict=True)
    ]


def build_part(part: Part, images: Iterator[Image], target: Target) -> dict[str, Any]:
    """Write a part; an image is stored as the target asks for.

    Args:
        part: The part.
        images: Gives the next image; one is taken for an image part.
        target: How images are stored.
    """
    if part.type == "text":
        return {"type": "text", "text": part.text}
    image = next(images)
    url: dict[str, Any] = {"url": store_image(image, target)}
    if image.detail is not None:
        url["detail"] = image.detail
    return {"type": "image_url", "image_url": url}


def require_json_lines(target: Target) -> None:
    """Refuse to write what OpenAI's service does not take.

    Raises:
        UsageError: The file would not be JSON Lines by its name.
    """
    if target.path.suffix.lower() != ".jsonl":
        raise UsageError(f"OpenAI takes JSON Lines. Name the file *.jsonl {show(target.name or target.path.name)}.")
