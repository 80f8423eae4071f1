"""Elements of a JSON array that hold a conversation with at most one image each, read many at a time."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from mmconvert.chat.conversations import ROLES
from mmconvert.core.plain_chats import PlainImageLine, PlainLine, PlainTurn
from mmconvert.core.text.image_markers import Markers

_MARKER = "<image>"
_MARKER_END = "image>"
"""In every text that has a marker, or what is read as one without its backslash."""
_QUOTE_ESCAPE = b"\\u0022"


class _Turn(
    msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, rename={"role": "from", "content": "value"}
):
    role: Literal["system", "user", "human", "assistant", "gpt"]
    content: str


class _Element(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    conversations: list[_Turn]
    id: str | int | msgspec.UnsetType | None = msgspec.UNSET
    image: str | msgspec.UnsetType | None = msgspec.UNSET


_decode = msgspec.json.Decoder(list[_Element]).decode
_encode = msgspec.json.Encoder().encode


def read_plain_elements(raw: bytes, markers: Markers) -> Sequence[PlainLine] | None:
    """Read elements of `conversations`, turns with `from` and `value`, and perhaps `id` and the path of an `image`.

    Args:
        raw: Elements behind each other, commas between them.
        markers: What stands for the image: at the beginning of the first text, and nowhere else.

    Returns:
        A conversation for each element; None where one holds anything else, or anything is amiss.
    """
    # A key that appears twice leaves quotes out when the elements are written again.
    try:
        elements = _decode(b"[%b]" % raw)
        if _QUOTE_ESCAPE in raw or _encode(elements).count(b'"') != raw.count(b'"'):
            return None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    lines: list[PlainLine] = []
    for element in elements:
        turns = [PlainTurn(ROLES[turn.role], turn.content) for turn in element.conversations]
        texts = [turn.content for turn in turns]
        named = element.id is not None and element.id is not msgspec.UNSET
        key = str(element.id).strip() if named else ""
        if element.image:
            if not texts or not texts[0].startswith(_MARKER):
                return None
            texts[0] = texts[0][len(_MARKER) :]
            if markers.line_break:
                texts[0] = texts[0].removeprefix("\n")
            turns[0] = PlainTurn(turns[0].role, texts[0])
            lines.append(PlainImageLine(turns, key or msgspec.UNSET, image=element.image))
        else:
            lines.append(PlainLine(turns, key or msgspec.UNSET))
        if not texts or any(_MARKER_END in text for text in texts):
            return None
    return lines
