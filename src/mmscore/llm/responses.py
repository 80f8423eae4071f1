"""What a service says: responses, why there is none, and never the key that it was sent.

A service may repeat the key in anything that it sends. So each text is masked before it is cut, shown or stored.
"""

import json
import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

import msgspec
from msgspec.structs import replace

from mmconvert.core.errors import show
from mmscore.llm.response_cache import FAILED, Answer

_MOST_TOKENS = 2**31 - 1
_SHOWN = 200
_MASK = "***"


def hide_key(text: str, key: str | None) -> str:
    """Take a key out of a text, as it is and as it stands in a URL.

    Example:
        >>> hide_key("no such key: sk-1", "sk-1"), hide_key("a", None)
        ('no such key: ***', 'a')
    """
    return text.replace(key, _MASK).replace(quote(key, safe=""), _MASK) if key else text


def _hide_key_inside(value: Any, key: str) -> Any:
    if isinstance(value, str):
        return hide_key(value, key)
    if isinstance(value, list):
        return [_hide_key_inside(member, key) for member in value]
    if isinstance(value, dict):
        return {hide_key(name, key): _hide_key_inside(member, key) for name, member in value.items()}
    return value


def _parse_body(data: bytes, key: str | None) -> Any:
    """Read JSON without the key.

    Raises:
        ValueError, RecursionError: It is none.
    """
    body = json.loads(data)
    # Only where the key may stand, as it is, in escapes, or in UTF-16: responses have as many values as tokens.
    if key and (key.encode() in data or b"\\u" in data or b"\\/" in data or 0 in data):
        return _hide_key_inside(body, key)
    return body


class Fault(msgspec.Struct, frozen=True):
    """Why a question got no response.

    Attributes:
        reason: In a few words.
        again: The same question may get a response when it is asked again.
    """

    reason: str
    again: bool = False

    def build_answer(self) -> Answer:
        """Give the state of the question."""
        return Answer(status=FAILED, error=f"no response: {self.reason}", passing=self.again or None)


def read_responses(data: bytes, key: str | None = None) -> list[Answer] | Fault:
    """Read the body of a call that the service calls a success.

    Args:
        data: The body.
        key: Secret that the service knows, to be masked.

    Returns:
        The choices that say something, at least one, their texts without lone surrogates; a fault when
        there is none or this is no chat completion. Empty text is a response. The first holds the tokens,
        which the service counts for all of them together.

    Example:
        >>> read_responses(b'{"choices": [{"message": {"content": "A"}, "finish_reason": "stop"}]}')[0].text
        'A'
        >>> read_responses(b"<html>").reason
        'the response is not JSON'
    """
    try:
        body = _parse_body(data, key)
    except (ValueError, RecursionError):
        return Fault("the response is not JSON", again=True)
    if not isinstance(body, dict) or (body.get("error") and not body.get("choices")):
        return Fault(f"the API server reports an error: {describe_refusal(data, key)}", again=True)
    try:
        found = [_read_choice(choice, key) for choice in body["choices"]]
    except (LookupError, TypeError, AttributeError):
        return Fault("the response holds no choice", again=True)
    answers = [one for one in found if isinstance(one, Answer)]
    if not answers:
        return next((one for one in found if isinstance(one, Fault)), Fault("the response holds no choice", again=True))
    usage = body.get("usage")
    details = usage.get("prompt_tokens_details") if isinstance(usage, Mapping) else None
    counted = replace(
        answers[0],
        prompt_tokens=_read_tokens(usage, "prompt_tokens"),
        completion_tokens=_read_tokens(usage, "completion_tokens"),
        cached_tokens=_read_tokens(details, "cached_tokens"),
    )
    return [counted, *answers[1:]]


def _read_choice(choice: Any, key: str | None) -> Answer | Fault:
    """Read one choice.

    Raises:
        LookupError, TypeError, AttributeError: It is none.
    """
    message = choice["message"]
    content, finish = message.get("content"), choice.get("finish_reason")
    text = content if isinstance(content, str) else None
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        kept = [text for text in texts if isinstance(text, str)]
        # Joined, its parts may make the key.
        text = hide_key("".join(kept), key) if kept else None
    finish = _replace_surrogates(finish)[:_SHOWN] if isinstance(finish, str) else None
    if text is None:
        return Fault(f"the response holds no text {show(content)}, finish_reason {finish}")
    thinking = message.get("reasoning_content") or message.get("reasoning")
    return Answer(
        text=_replace_surrogates(text),
        finish_reason=finish,
        thinking=_replace_surrogates(thinking) if isinstance(thinking, str) else None,
        token_logprobs=_read_logprobs(choice.get("logprobs")),
    )


def _read_logprobs(said: Any) -> tuple[float, ...] | None:
    """Read the log-probability of each token; None where the service does not give them."""
    listed = said.get("content") if isinstance(said, dict) else None
    values = []
    for token in listed if isinstance(listed, list) else []:
        value = token.get("logprob") if isinstance(token, dict) else None
        # No service means 1e999, nor an integer of hundreds of digits: such a list says nothing.
        number = float(value) if isinstance(value, float) or (type(value) is int and abs(value) < 2**53) else math.nan
        if not math.isfinite(number):
            return None
        values.append(number)
    return tuple(values) or None


def _replace_surrogates(text: str) -> str:
    """Replace halves of surrogate pairs, which no file can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _read_tokens(usage: object, name: str) -> int | None:
    value = usage.get(name) if isinstance(usage, Mapping) else None
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None


def describe_refusal(data: bytes, key: str | None = None) -> str:
    """Give what a service says about a refusal, one line of at most 200 characters, without the key.

    Example:
        >>> describe_refusal(b'{"error": {"message": "too long", "code": 1}}')
        'too long'
        >>> describe_refusal(b"Bad Gateway"), describe_refusal(b"")
        ('Bad Gateway', '')
    """
    # Masked before anything is cut, which may leave half of it.
    text = hide_key(data.decode("utf-8", "replace"), key)[: 16 * 1024]
    try:
        said = _parse_body(data, key)
        for name in ("error", "message", "detail"):
            said = said.get(name, said) if isinstance(said, dict) else said
        text = said if isinstance(said, str) else text
    except (ValueError, RecursionError):
        pass
    return hide_key(" ".join("".join(c if c.isprintable() else " " for c in text).split()), key)[:_SHOWN]


def describe_redirect(headers: Mapping[str, str], key: str | None = None) -> str:
    """Give where a redirect leads, without query and key, on one line; it is shown, and never followed.

    Example:
        >>> describe_redirect({"location": "https://other.example/v1?key=1"})
        'https://other.example/v1'
    """
    place = "".join(c for c in headers.get("location", "").partition("?")[0] if c.isprintable())
    if key and key in unquote(place):
        place = unquote(place)
    return hide_key(place, key)[:_SHOWN]
