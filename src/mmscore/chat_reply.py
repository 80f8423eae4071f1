"""Read the body of a chat completion: a reply, or why it is none."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mmconvert.errors import got
from mmscore.answers import Answer

_SHOWN = 200
_MOST_TOKENS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a question got no reply.

    Attributes:
        reason: In a few words.
        again: The same question may get a reply when it is asked again.
    """

    reason: str
    again: bool = False


def read_reply(data: bytes) -> Answer | Fault:
    """Read the body of a call that the service calls a success.

    Args:
        data: The body.

    Returns:
        The first choice, its text without lone surrogates; a fault when it is no chat completion or
        says nothing. Empty text is a reply.

    Example:
        >>> read_reply(b'{"choices": [{"message": {"content": "A"}, "finish_reason": "stop"}]}').text
        'A'
        >>> read_reply(b"<html>").reason
        'the reply is no JSON'
    """
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return Fault("the reply is no JSON", again=True)
    if not isinstance(body, dict) or (body.get("error") and not body.get("choices")):
        return Fault(f"the service reports an error: {refusal_text(data)}", again=True)
    try:
        choice = body["choices"][0]
        message = choice["message"]
        content = message.get("content")
    except (LookupError, TypeError, AttributeError):
        return Fault("the reply holds no choice", again=True)
    text = content if isinstance(content, str) else _joined(content)
    finish = choice.get("finish_reason")
    finish = finish if isinstance(finish, str) else None
    if text is None:
        return Fault(f"the reply holds no text {got(content)}, finish_reason {finish}")
    thinking = message.get("reasoning_content") or message.get("reasoning")
    usage = body.get("usage")
    return Answer(
        text=_well_formed(text),
        finish_reason=finish,
        thinking=_well_formed(thinking) if isinstance(thinking, str) else None,
        prompt_tokens=_tokens(usage, "prompt_tokens"),
        completion_tokens=_tokens(usage, "completion_tokens"),
    )


def _joined(content: Any) -> str | None:
    """Join the text parts of a content list; None when it is none."""
    if not isinstance(content, list) or not content:
        return None
    texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
    kept = [text for text in texts if isinstance(text, str)]
    return "".join(kept) if kept else None


def _well_formed(text: str) -> str:
    """Replace halves of surrogate pairs, which no file can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _tokens(usage: object, name: str) -> int | None:
    value = usage.get(name) if isinstance(usage, Mapping) else None
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None


def refusal_text(data: bytes) -> str:
    """Give what a service says about a refusal, one line of at most 200 characters.

    Example:
        >>> refusal_text(b'{"error": {"message": "too long", "code": 1}}')
        'too long'
        >>> refusal_text(b"Bad Gateway"), refusal_text(b"")
        ('Bad Gateway', '')
    """
    text = data[: 16 * 1024].decode("utf-8", "replace")
    try:
        said = json.loads(data)
        for name in ("error", "message", "detail"):
            said = said.get(name, said) if isinstance(said, dict) else said
        text = said if isinstance(said, str) else text
    except (ValueError, RecursionError):
        pass
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:_SHOWN]
