"""Read what a service says: the replies of a chat completion, why there is none, the pause that it asks for."""

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from mmconvert.core.errors import got
from mmscore.llm.response_cache import Answer

_SHOWN = 200
_MOST_TOKENS = 2**31 - 1


class Fault(msgspec.Struct, frozen=True):
    """Why a question got no reply.

    Attributes:
        reason: In a few words.
        again: The same question may get a reply when it is asked again.
    """

    reason: str
    again: bool = False


def read_replies(data: bytes) -> list[Answer] | Fault:
    """Read the body of a call that the service calls a success.

    Args:
        data: The body.

    Returns:
        The choices that say something, at least one, their texts without lone surrogates; a fault when
        there is none or this is no chat completion. Empty text is a reply. The first holds the tokens,
        which the service counts for all of them together.

    Example:
        >>> read_replies(b'{"choices": [{"message": {"content": "A"}, "finish_reason": "stop"}]}')[0].text
        'A'
        >>> read_replies(b"<html>").reason
        'the reply is no JSON'
    """
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return Fault("the reply is no JSON", again=True)
    if not isinstance(body, dict) or (body.get("error") and not body.get("choices")):
        return Fault(f"the service reports an error: {refusal_text(data)}", again=True)
    try:
        found = [_read_choice(choice) for choice in body["choices"]]
    except (LookupError, TypeError, AttributeError):
        return Fault("the reply holds no choice", again=True)
    answers = [one for one in found if isinstance(one, Answer)]
    if not answers:
        return next((one for one in found if isinstance(one, Fault)), Fault("the reply holds no choice", again=True))
    usage = body.get("usage")
    counted = replace(
        answers[0],
        prompt_tokens=_tokens(usage, "prompt_tokens"),
        completion_tokens=_tokens(usage, "completion_tokens"),
    )
    return [counted, *answers[1:]]


def _read_choice(choice: Any) -> Answer | Fault:
    """Read one choice.

    Raises:
        LookupError, TypeError, AttributeError: It is none.
    """
    message = choice["message"]
    content, finish = message.get("content"), choice.get("finish_reason")
    text = content if isinstance(content, str) else _joined(content)
    finish = finish if isinstance(finish, str) else None
    if text is None:
        return Fault(f"the reply holds no text {got(content)}, finish_reason {finish}")
    thinking = message.get("reasoning_content") or message.get("reasoning")
    return Answer(
        text=_well_formed(text),
        finish_reason=finish,
        thinking=_well_formed(thinking) if isinstance(thinking, str) else None,
        token_logprobs=_logprobs(choice.get("logprobs")),
    )


def _joined(content: Any) -> str | None:
    """Join the text parts of a content list; None when it is none."""
    if not isinstance(content, list) or not content:
        return None
    texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
    kept = [text for text in texts if isinstance(text, str)]
    return "".join(kept) if kept else None


def _logprobs(said: Any) -> tuple[float, ...] | None:
    """Read the log-probability of each token; None where the service does not give them."""
    listed = said.get("content") if isinstance(said, dict) else None
    values = []
    for token in listed if isinstance(listed, list) else []:
        value = token.get("logprob") if isinstance(token, dict) else None
        if not isinstance(value, int | float):
            return None
        values.append(float(value))
    return tuple(values) or None


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


def asked_pause(headers: Mapping[str, str]) -> float | None:
    """Read Retry-After: seconds or a date; None when it says nothing that makes sense.

    Example:
        >>> asked_pause({"retry-after": "2"}), asked_pause({"retry-after": "soon"}), asked_pause({})
        (2.0, None, None)
    """
    text = headers.get("retry-after", "").strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            until = parsedate_to_datetime(text)
        except ValueError:
            return None
        until = until if until.tzinfo else until.replace(tzinfo=UTC)
        seconds = (until - datetime.now(UTC)).total_seconds()
    return seconds if seconds >= 0 and not math.isnan(seconds) else None
