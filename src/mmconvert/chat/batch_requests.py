"""Requests of batch APIs as rows of messages: what stands in `body` (OpenAI, vLLM, Mistral) or `params` (Anthropic)."""

from collections.abc import Mapping
from typing import Any

ID = "custom_id"
HOLDERS = ("body", "params")
"""Field of the request: OpenAI's, Anthropic's."""

_ANSWERED = frozenset(("messages", "response", "result"))
"""Fields beside which a request is none to unwrap: a row of messages, or a result."""
_RESPONSES = "/responses"
"""End of the address of OpenAI's Responses API, which alone calls its messages `input` and its prompt `instructions`;
to embed or to moderate is no question."""
_RENAMED = {"input_text": "text", "output_text": "text"}


def unwrap_request(fields: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Give a row of messages for a request, and what else it is for itself.

    Args:
        fields: The row.

    Returns:
        A row with `id`, `messages` and `system` as the request has them, the rest of it under its own names; and where
        its messages stand in the file.

    Example:
        >>> asked = {"model": "m", "messages": [{"role": "user", "content": "Why?"}]}
        >>> unwrap_request({"custom_id": "q1", "url": "/v1/chat/completions", "body": asked})[0]["id"]
        'q1'
        >>> unwrap_request({"custom_id": "q1", "messages": []})
        ({'custom_id': 'q1', 'messages': []}, 'messages')
    """
    if "messages" in fields or (holder := find_request(fields)) is None:
        return dict(fields), "messages"
    row, request = dict(fields), dict(fields[holder])
    row["id"] = row.pop(ID, None)
    asked, prompt = _name_parts(fields, request)
    messages, system = request.pop(asked), request.pop(prompt, None)
    row["messages"] = _read_input(messages) if asked == "input" else messages
    row |= {"system": system} if system is not None else {}
    row[holder] = request
    return row, f"{holder}.{asked}"


def find_request(fields: Mapping[str, Any]) -> str | None:
    """Name the field that holds a request with messages, None where none does.

    Example:
        >>> find_request({"custom_id": "q1", "params": {"messages": []}}), find_request({"custom_id": "q1", "body": {}})
        ('params', None)
    """
    if not _ANSWERED.isdisjoint(fields):
        return None
    return next((name for name in HOLDERS if _name_parts(fields, fields.get(name))[0] in _dict(fields.get(name))), None)


def _name_parts(fields: Mapping[str, Any], request: Any) -> tuple[str, str]:
    """Name the fields of a request's messages and of its system prompt."""
    if "messages" not in _dict(request) and str(fields.get("url")).rstrip("/").endswith(_RESPONSES):
        return "input", "instructions"
    return "messages", "system"


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _read_input(value: Any) -> Any:
    """Write the input of the Responses API, a text or messages of its own parts, as messages."""
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    if not isinstance(value, list):
        return value
    return [_read_item(item) if isinstance(item, dict) else item for item in value]


def _read_item(item: Mapping[str, Any]) -> dict[str, Any]:
    named = {name: value for name, value in item.items() if (name, value) != ("type", "message")}
    content = item.get("content")
    if isinstance(content, list):
        named["content"] = [_read_part(part) if isinstance(part, dict) else part for part in content]
    return named


def _read_part(part: dict[str, Any]) -> dict[str, Any]:
    kind = part.get("type")
    if kind == "input_image" and isinstance(address := part.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": address, "detail": part.get("detail")}}
    return {**part, "type": _RENAMED[kind]} if isinstance(kind, str) and kind in _RENAMED else part
