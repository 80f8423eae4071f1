r"""OpenAI chat messages as EvalScope reads them, parts that a dataset created by mmconvert cannot hold included.

A message is the framework's own: `{"role", "content"}`, the content a text or a list of parts (see
`mmconvert.kits.evalscope.media`; also `{"type": "reasoning", "reasoning", "redacted"}`); the assistant's may
have `tool_calls`, a tool's has `tool_call_id` and `function`.

Parity: modelscope/evalscope 1.3.0, 1.10.0, 1.14.1 evalscope/models/utils/openai.py:
chat_messages_from_openai, evalscope/benchmarks/general_vqa:record_to_sample.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from mmconvert.core.errors import RowError, show
from mmconvert.kits.evalscope.media import (
    Part,
    Row,
    build_audio_part,
    build_image_part,
    build_video_part,
    has_placeholder,
    split_parts,
)
from mmconvert.kits.evalscope.release import LATEST, Release

Message = dict[str, Any]
PlaceMedia = Callable[[str, Row, Release], str | list[Part]]

OPENING = re.compile(r"<think((?:\s+(?:signature|redacted)=\"[^\"]*\")*)\s*>")
CLOSING = "</think>"
_ATTRIBUTE = re.compile(r"(signature|redacted)=\"([^\"]*)\"")


def sample_of(
    row: Row, release: Release = LATEST, system_prompt: str | None = None, *, place_media: PlaceMedia = split_parts
) -> tuple[list[Message], Any]:
    """Read a row of General-VQA.

    Args:
        row: The raw row: `messages` (a list, or its JSON), `answer`, and since 1.14 media columns.
        release: Whose behaviour is wanted.
        system_prompt: Put first where the row has no system message of its own.
        place_media: Writes a user's text that names media of the row, since 1.14.

    Returns:
        The messages and the reference: a text, a list of texts, "" for none. Whatever is not a list of
        messages gives none.

    Raises:
        RowError: The framework refuses the row.

    Example:
        >>> sample_of({"messages": '[{"role": "user", "content": "<image 1>?"}]', "image_1": "a.png"})[0]
        [{'role': 'user', 'content': [{'type': 'image', 'image': 'a.png', 'detail': 'auto'}, \
{'type': 'text', 'text': '?'}]}]
    """
    value = row.get("messages")
    if isinstance(value, str):
        value = read_json(value, "messages")
    messages = [] if not isinstance(value, list) else read_messages(value, release)
    if release == LATEST:
        messages = [_resolve_media(message, row, release, place_media) for message in messages]
    return add_system_message(messages, system_prompt), check_reference(row.get("answer") or "")


def add_system_message(messages: list[Message], system_prompt: str | None) -> list[Message]:
    """Put a system prompt first, unless the messages have one.

    Example:
        >>> add_system_message([{"role": "system", "content": "own"}], "other")
        [{'role': 'system', 'content': 'own'}]
    """
    if not system_prompt or any(message["role"] == "system" for message in messages):
        return messages
    return [{"role": "system", "content": system_prompt}, *messages]


def check_reference(answer: Any) -> Any:
    """Check a reference: a text or a list of texts, given back as it is.

    Raises:
        RowError: `answer.type`.
    """
    if isinstance(answer, str) or (isinstance(answer, list) and all(isinstance(one, str) for one in answer)):
        return answer
    raise RowError("answer.type", "answer", f"expected a text or a list of texts {show(answer)}.")


def read_json(text: str, field: str) -> Any:
    """Read JSON as Python's own reader does: NaN and repeated keys pass.

    Raises:
        RowError: `json.syntax`.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RowError("json.syntax", field, f"bad JSON: {error} {show(text)}.") from None


def read_messages(messages: list[Any], release: Release = LATEST) -> list[Message]:
    """Read messages of OpenAI's chat completions.

    Raises:
        RowError: A message, a role or a part is unknown or incomplete.

    Example:
        >>> read_messages([{"role": "assistant", "content": "<think>why</think> Yes."}])[0]["content"]
        [{'type': 'reasoning', 'reasoning': 'why', 'redacted': False}, {'type': 'text', 'text': 'Yes.'}]
    """
    functions: dict[Any, str] = {}
    read: list[Message] = []
    for number, message in enumerate(messages):
        where = f"messages[{number}]"
        if not isinstance(message, Mapping):
            raise RowError("messages.type", where, f"expected an object {show(message)}.")
        role = _require_value(message, "role", where)
        if role == "assistant":
            read.append(_read_assistant(message, where, release))
            functions |= {call["id"]: call["name"] for call in read[-1].get("tool_calls", [])}
        elif role == "tool":
            key = _require_value(message, "tool_call_id", where)
            content = _read_content(message.get("content") or "", where, release)
            read.append({"role": role, "content": content, "tool_call_id": key, "function": functions.get(key, "")})
        elif isinstance(role, str) and role in _ROLES:
            content = _read_content(_require_value(message, "content", where), where, release)
            read.append({"role": _ROLES[role], "content": content})
        else:
            raise RowError("messages.role", where, f"expected system, developer, user, assistant or tool {show(role)}.")
    return read


_ROLES = {"system": "system", "developer": "system", "user": "user"}


def _resolve_media(message: Message, row: Row, release: Release, place_media: PlaceMedia) -> Message:
    """Resolve the placeholders of a user message that is one plain text."""
    text = message["content"]
    if message["role"] != "user" or not isinstance(text, str) or not has_placeholder(text, release):
        return message
    return {**message, "content": place_media(text, row, release) or text}


def _read_assistant(message: Mapping[str, Any], where: str, release: Release) -> Message:
    content = message.get("content")
    refused = content is None and bool(message.get("refusal"))
    if content is None:
        content = message.get("refusal") or ""
    read = _read_content(content, where, release, thinking=True)
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if reasoning is not None:
        if isinstance(read, str):
            read = [{"type": "text", "text": read, **({"refusal": True} if refused else {})}]
        read = [_build_reasoning_part(str(reasoning)), *read]
    calls = [_call(call, where) for call in message.get("tool_calls") or []]
    return {"role": "assistant", "content": read, **({"tool_calls": calls} if calls else {})}


def _call(call: Any, where: str) -> dict[str, Any]:
    try:
        key, name, arguments = call["id"], call["function"]["name"], call["function"]["arguments"]
    except (KeyError, TypeError):
        raise RowError("messages.tool_calls", where, f"a tool call is incomplete {show(call)}.") from None
    try:
        read = json.loads(arguments)
    except (TypeError, ValueError, RecursionError):
        read = {}
    return {"id": key, "name": name, "arguments": read if isinstance(read, dict) else {}}


def _read_content(content: Any, where: str, release: Release, *, thinking: bool = False) -> str | list[Part]:
    if isinstance(content, str):
        return (_split_thinking(content) or content) if thinking else content
    if not isinstance(content, list):
        raise RowError("messages.content", where, f"expected a text or a list of parts {show(content)}.")
    parts: list[Part] = []
    for number, given in enumerate(content):
        part = _read_part(given, f"{where}.content[{number}]", release)
        cut = _split_thinking(part["text"]) if thinking and part["type"] == "text" and "refusal" not in part else None
        parts += cut or [part]
    return parts


def _split_thinking(text: str) -> list[Part] | None:
    """Cut the first closed reasoning block out of a text; None where there is none."""
    opening = OPENING.search(text)
    end = text.find(CLOSING, opening.end()) if opening else -1
    if opening is None or end < 0:
        return None
    rest = text[: opening.start()] + text[end + len(CLOSING) :]
    reasoning = _build_reasoning_part(text[opening.end() : end].strip(), **dict(_ATTRIBUTE.findall(opening[1])))
    return [reasoning, {"type": "text", "text": rest.strip()}]


def _build_reasoning_part(text: str, signature: str | None = None, redacted: str = "false") -> Part:
    signed = {} if signature is None else {"signature": signature}
    return {"type": "reasoning", "reasoning": text, **signed, "redacted": redacted == "true"}


def _read_part(part: Any, where: str, release: Release) -> Part:
    if not isinstance(part, Mapping):
        raise RowError("messages.part", where, f"expected an object {show(part)}.")
    if "type" not in part and len(part) == 1:
        part = {"type": next(iter(part)), **part}
    kind = _require_value(part, "type", where)
    if kind in ("text", "refusal", "reasoning"):
        text = _require_value(part, kind, where)
        if not isinstance(text, str):
            raise RowError("messages.part", f"{where}.{kind}", f"expected a text {show(text)}.")
        if kind == "reasoning":
            return _build_reasoning_part(text)
        return {"type": "text", "text": text, **({"refusal": True} if kind == "refusal" else {})}
    if kind == "image_url":
        value = _require_object(part, kind, where)
        return build_image_part(_require_value(value, "url", where), value.get("detail", "auto"))
    if kind == "input_audio":
        value = _require_object(part, kind, where)
        return build_audio_part(_require_value(value, "data", where), _require_value(value, "format", where))
    if kind == "video_url" and release != "1.3.0":
        if isinstance(url := _require_value(part, kind, where), str):
            return build_video_part(url, {})
        value = _require_object(part, kind, where)
        return build_video_part(_require_value(value, "url", where), value)
    raise RowError("messages.part", where, f"no part of the type {show(kind)} is known.")


def _require_value(value: Mapping[str, Any], name: str, where: str) -> Any:
    if name not in value:
        raise RowError("messages.field", where, f"the field {name!r} is missing.")
    return value[name]


def _require_object(part: Mapping[str, Any], kind: str, where: str) -> Mapping[str, Any]:
    value = _require_value(part, kind, where)
    if not isinstance(value, Mapping):
        raise RowError("messages.part", f"{where}.{kind}", f"expected an object {show(value)}.")
    return value
