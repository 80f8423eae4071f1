"""The messages that EvalScope sends to a server: OpenAI's form, local images as data URLs.

Parity: modelscope/evalscope 1.3.0, 1.10.0, 1.14.1 evalscope/models/utils/openai.py:openai_chat_messages,
for texts and images.
"""

import base64
import re
from collections.abc import Callable, Iterable
from mimetypes import MimeTypes
from pathlib import Path
from typing import Any

from mmconvert.core.errors import RowError, show
from mmconvert.kits.evalscope.media import Part
from mmconvert.kits.evalscope.messages import Message

PASSED_ON = re.compile(r"https?://|data:[^;]+;base64,")
"""Upper case and a data URL with parameters do not pass: they are taken for paths."""

_TYPES = MimeTypes()
_FALLBACK = "image/png"


def build_wire_messages(messages: Iterable[Message], image: Callable[[str], str]) -> list[dict[str, Any]]:
    """Write messages as they go over the wire.

    Args:
        messages: The framework's messages, texts and images only.
        image: Gives the address of an image's reference, such as `build_data_url_resolver(folder)`.

    Returns:
        `{"role", "content"}`, the content a text or a list of `text` and `image_url` parts.

    Raises:
        RowError: `media.unsupported`: a part is neither text nor image; and what `image` raises.

    Example:
        >>> part = {"type": "image", "image": "https://x.org/a.png", "detail": "auto"}
        >>> build_wire_messages([{"role": "user", "content": [part]}], lambda url: url)[0]["content"]
        [{'type': 'image_url', 'image_url': {'url': 'https://x.org/a.png', 'detail': 'auto'}}]
    """
    return [{**message, "content": _build_content(message["content"], image)} for message in messages]


def build_data_url_resolver(folder: Path) -> Callable[[str], str]:
    """Give a function that turns references into addresses as the framework does when it runs in a folder.

    Args:
        folder: Where relative paths start; for the framework the folder it was started in, not the data's.

    Returns:
        A function from reference to address: addresses and plain data URLs are passed on, everything
        else is a path. The type follows from the name, png where it tells none; bytes are not looked at.
        It raises RowError `image.missing` for a file that cannot be read.
    """

    def address(reference: str) -> str:
        if PASSED_ON.match(reference):
            return reference
        try:
            data = (folder / reference).read_bytes()
        except (OSError, ValueError):
            raise RowError("image.missing", "", f"there is no such file {show(reference)}.") from None
        # The type must not hang on the machine's own tables, hence no mimetypes.guess_type.
        kind = _TYPES.guess_type(reference, strict=False)[0] or _FALLBACK
        return f"data:{kind};base64,{base64.b64encode(data).decode()}"

    return address


def _build_content(content: str | list[Part], image: Callable[[str], str]) -> str | list[dict[str, Any]]:
    return content if isinstance(content, str) else [_build_part(part, image) for part in content]


def _build_part(part: Part, image: Callable[[str], str]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    if part["type"] == "image":
        return {"type": "image_url", "image_url": {"url": image(part["image"]), "detail": part["detail"]}}
    raise RowError("media.unsupported", "messages", f"parts of type {part['type']!r} are not written.")
