"""Lines of JSON that hold a plain conversation each, read many at a time."""

import msgspec

from mmconvert.core.plain_chats import PlainLine

_decode_lines = msgspec.json.Decoder(PlainLine).decode_lines
_encode_lines = msgspec.json.Encoder().encode_lines
_QUOTE_ESCAPE = b"\\u0022"


def read_plain_lines(raw: bytes) -> list[PlainLine] | None:
    """Read lines of `messages` and perhaps `id` and `answer`, all of them texts.

    Args:
        raw: Whole lines, the last one with its line break.

    Returns:
        A conversation for each line; None where a line holds anything else, or anything is amiss.
    """
    # Where a line holds anything else, the first of them ends this.
    try:
        lines = _decode_lines(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    # Each line is one object, and no object goes over two lines: a line break inside a text is no JSON.
    count = raw.count(b"\n")
    if len(lines) != count or raw[:1] != b"{" or raw.count(b"}\n{") != count - 1:
        return None
    # A key that appears twice leaves quotes out when the objects are written again.
    if _QUOTE_ESCAPE in raw or _encode_lines(lines).count(b'"') != raw.count(b'"'):
        return None
    ids = [line.id for line in lines if line.id is not msgspec.UNSET]
    if not all(ids) or [*map(str.strip, ids)] != ids or not all(line.messages for line in lines):
        return None
    return lines
