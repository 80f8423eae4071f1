"""Results of batch APIs: OpenAI's (and vLLM's) `custom_id` with `response`, Anthropic's `custom_id` with `result`.

The response is the text of the first choice's message, of OpenAI's Responses API that of its messages, and of Anthropic
that of its text blocks. They hold no questions and no references: `--answers` takes the dataset, whose ids `custom_id`
repeats; a file of the batch's errors alone has nothing to score. The file of its requests is `openai_messages`.
Source: the batch guides of developers.openai.com and docs.claude.com.

Kept: the model as `extra.model`, the whole response in `extra`.
Refused: rows without a `custom_id` (`id.missing`), requests that failed or were answered without a text
(`prediction.missing`).
Lost: nothing.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from mmconvert.chat.batch_requests import ID
from mmconvert.core.errors import RowError, show
from mmconvert.core.record import Record
from mmconvert.core.rows import Row
from mmconvert.io import jsonl
from mmconvert.io.columns import keep_json_fields
from mmconvert.plugins.format import Context, Format, Sample

HOLDERS = ("response", "result")
"""Field of the response: OpenAI's, Anthropic's."""

_TEXTS = ("text", "output_text")


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    key = fields.pop(ID, None)
    if not isinstance(key, str) or not key.strip():
        raise RowError("id.missing", ID, f"expected a text {show(key)}.")
    holder = next((name for name in HOLDERS if name in fields), HOLDERS[0])
    message = _find_message(fields.get(holder))
    text = _read_text(message)
    if text is None:
        failure = _find_failure(fields) or fields.get(holder)
        told = f"the request has no response with a text {show(failure)}. Send it again, or leave the row out."
        raise RowError("prediction.missing", holder, told)
    model = message.get("model")
    yield Record(
        id=key.strip(),
        sample=key.strip(),
        messages=(),
        task=context.task or "vqa",
        source=context.source(row),
        dataset=context.dataset,
        subset=context.subset,
        extra=keep_json_fields({**({"model": model} if isinstance(model, str) else {}), **fields}, context),
        prediction=text,
    )


def _find_message(response: Any) -> Mapping[str, Any]:
    """Give what the model answered: the body of a response, or the message of a result; {} for a failure."""
    held = response if isinstance(response, dict) else {}
    found = held.get("body", held.get("message"))
    return found if isinstance(found, dict) else {}


def _find_failure(fields: Mapping[str, Any]) -> Any:
    """Give what the service says of a request that failed: its words where there are some, else the object."""
    held = [fields[name] for name in HOLDERS if isinstance(fields.get(name), dict)]
    places = [fields, *held, *map(_find_message, held)]
    found = next((place["error"] for place in places if place.get("error")), None)
    while isinstance(found, dict) and "error" in found:
        found = found["error"]
    return found.get("message") or found if isinstance(found, dict) else found


def _read_text(message: Mapping[str, Any]) -> str | None:
    choices = message.get("choices")
    if isinstance(choices, list):
        first = choices[0] if choices and isinstance(choices[0], dict) else {}
        said = first.get("message")
        return _join_texts(said.get("content") if isinstance(said, dict) else None)
    output = message.get("output")
    if isinstance(output, list):
        parts = [part for one in output if isinstance(one, dict) for part in _list(one.get("content"))]
        return _join_texts(parts)
    return _join_texts(message.get("content"))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _join_texts(content: Any) -> str | None:
    """Join the texts of a message's parts; None where it has none."""
    if isinstance(content, str):
        return content
    parts = [part.get("text") for part in _list(content) if isinstance(part, dict) and part.get("type") in _TEXTS]
    texts = [text for text in parts if isinstance(text, str)]
    return "".join(texts) if texts else None


def _find_mismatch(sample: Sample) -> str | None:
    if (missing := sample.find_missing([ID], "field")) is not None:
        return missing
    held = next((name for name in HOLDERS if name in sample.columns), None)
    if held is None:
        return f"neither a field {' nor '.join(map(repr, HOLDERS))}"
    values = [row.get(held) for row in sample.rows]
    return None if all(value is None or isinstance(value, dict) for value in values) else f"{held} is not an object"


FORMAT = Format(
    summary="Results of OpenAI's and Anthropic's batch APIs",
    suffixes=(".jsonl",),
    rows=jsonl.rows,
    records=_read_records,
    mismatch=_find_mismatch,
    cuttable=True,
)
