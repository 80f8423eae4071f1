"""OpenAI chat messages as JSONL or TSV: `messages` and `answer`, pictures as parts or as placeholders.

Each record has `messages` (a list, or that list as JSON text) and may have `answer` (a text or a list of
texts). Pictures are `image_url` parts (path, data URL or address), or `<image k>` in a user message that
is one plain string, with the picture in `image_k`. Source: EvalScope's General-VQA format (its custom
multimodal dataset document and benchmarks/general_vqa).
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mmconvert.errors import RowError, got, in_field
from mmconvert.exported_images import reference
from mmconvert.format import Context, Format, Loss, Sample, Target
from mmconvert.placeholders import interleave, slots_in, turn_text
from mmconvert.record import Image, Part, Record, Turn, canonical_json
from mmconvert.sources import Rejected, Row, Span, jsonl, tables
from mmconvert.sources.jsonl import parse_json
from mmconvert.table_writer import TableWriter, write_jsonl
from mmconvert.tables import own_id, rest, take_id, take_numbered_pictures, unshown

ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


def _rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    return tables.rows(path, span) if path.suffix.lower() in tables.DELIMITERS else jsonl.rows(path, span)


def _records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    messages = _messages(fields.pop("messages", None))
    pictures = take_numbered_pictures(fields, context)
    turns: list[Turn] = []
    images: list[Image] = []
    extras: list[dict[str, Any]] = []
    question: str | None = None
    for number, message in enumerate(messages):
        turn, shown, extra = _turn(message, number, pictures, len(images), context)
        turns.append(turn)
        images += shown
        extras.append(extra)
        if turn.role == "user":
            question = turn_text(turn, shown)
    hidden = unshown(pictures, images, context) if pictures else ()
    label = fields.pop("answer", None)
    answers = _answers(label)
    key = take_id(fields, row, context)
    extra = rest(fields)
    if any(extras):
        extra["messages_extra"] = extras
    yield Record(
        id=key,
        sample=key,
        messages=tuple(turns),
        task=context.task or ("chat" if turns[-1].role == "assistant" else "vqa"),
        source=context.source(row),
        images=tuple(images),
        question=question,
        answer=answers[0] if answers else None,
        answers=answers,
        label=None if label is None else canonical_json(label),
        dataset=context.dataset,
        subset=context.subset,
        attachments=hidden,
        extra=extra,
    )


def _messages(value: Any) -> list[Mapping[str, Any]]:
    if isinstance(value, str):
        with in_field("messages"):
            value = parse_json(value)
    if not isinstance(value, list) or not value:
        raise RowError("messages.missing", "messages", f"expected a list of messages {got(value)}.")
    for number, message in enumerate(value):
        if not isinstance(message, dict):
            raise RowError("messages.type", f"messages[{number}]", f"expected an object {got(message)}.")
    return value


def _picture(text: str, slot: int, field: str, context: Context, detail: str | None = None) -> Image:
    with in_field(field):
        return context.pictures.of_reference(text, slot, detail)


def _turn(
    message: Mapping[str, Any], number: int, pictures: Mapping[int, Image], shown_before: int, context: Context
) -> tuple[Turn, list[Image], dict[str, Any]]:
    where = f"messages[{number}]"
    role, content = message.get("role"), message.get("content")
    if role == "tool" or message.get("tool_calls") or message.get("function_call"):
        raise RowError("media.unsupported", where, "tool calls are not supported yet. Leave the row out.")
    if role not in ROLES:
        raise RowError("messages.role", f"{where}.role", f"expected system, user or assistant {got(role)}.")
    extra = {key: value for key, value in message.items() if key not in ("role", "content")}
    if ROLES[role] != role:
        extra["role"] = role
    if isinstance(content, str):
        if role == "user" and slots_in(content):
            parts, shown = interleave(content, pictures, f"{where}.content")
            return Turn("user", parts), list(shown), extra
        return Turn(ROLES[role], (Part("text", content),)), [], extra
    if not isinstance(content, list):
        raise RowError("messages.content", f"{where}.content", f"expected a text or a list of parts {got(content)}.")
    parts_list: list[Part] = []
    images: list[Image] = []
    for position, part in enumerate(content):
        field = f"{where}.content[{position}]"
        made, image = _part(part, field, shown_before + len(images) + 1, context)
        parts_list.append(made)
        if image is not None:
            images.append(image)
    return Turn(ROLES[role], tuple(parts_list)), images, extra


def _part(part: Any, field: str, slot: int, context: Context) -> tuple[Part, Image | None]:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text" and isinstance(part.get("text"), str):
        return Part("text", part["text"]), None
    if kind == "image_url":
        value = part.get("image_url")
        url, detail = (value.get("url"), value.get("detail")) if isinstance(value, dict) else (value, None)
        if not isinstance(url, str) or not (detail is None or isinstance(detail, str)):
            raise RowError("messages.part", f"{field}.image_url", f"expected {{'url': ...}} {got(value)}.")
        return Part("image"), _picture(url, slot, f"{field}.image_url", context, detail)
    if kind in ("input_audio", "video_url", "file", "audio_url"):
        raise RowError("media.unsupported", field, f"parts of type {kind!r} are not supported. Leave the row out.")
    raise RowError("messages.part", field, f"expected a text or image_url part {got(part)}.")


def _answers(label: Any) -> tuple[str, ...]:
    if label is None:
        return ()
    values = label if isinstance(label, list) else [label]
    if any(isinstance(v, bool) or not isinstance(v, str | int | float) for v in values):
        raise RowError("answer.type", "answer", f"expected a text, a number or a list of them {got(label)}.")
    return tuple(str(value) for value in values)


def _mismatch(sample: Sample) -> str | None:
    return None if "messages" in sample.columns else "no field 'messages'"


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    losses: list[Loss] = []
    if target.path.suffix.lower() in tables.DELIMITERS:
        with TableWriter(target) as table:
            table.write_all(lambda: (_fields(record, target, losses) for record in records))
    else:
        write_jsonl((_fields(record, target, losses) for record in records), target.path)
    yield from dict.fromkeys(losses)


def _fields(record: Record, target: Target, losses: list[Loss]) -> dict[str, Any]:
    extra = dict(record.extra)
    extras = extra.pop("messages_extra", None) or [{}] * len(record.messages)
    images = iter(record.images)
    messages = []
    for turn, more in zip(record.messages, extras, strict=True):
        content: Any = [_out(part, images, target) for part in turn.content]
        if len(content) == 1 and content[0]["type"] == "text" and not slots_in(content[0]["text"]):
            content = content[0]["text"]
        messages.append({"role": turn.role, "content": content, **more})
    fields: dict[str, Any] = {**own_id(record)}
    fields["messages"] = messages
    if record.label is not None:
        fields["answer"] = parse_json(record.label)
    fields.update({f"image_{i.slot}": reference(i, target) for i in record.attachments})
    if record.options:
        losses.append(Loss(record.id, "options", "options have no field of their own; they stand in the prompt only"))
    return {**fields, **extra}


def _out(part: Part, images: Iterator[Image], target: Target) -> dict[str, Any]:
    if part.type == "text":
        return {"type": "text", "text": part.text}
    image = next(images)
    url: dict[str, Any] = {"url": reference(image, target)}
    if image.detail is not None:
        url["detail"] = image.detail
    return {"type": "image_url", "image_url": url}


FORMAT = Format(
    summary="OpenAI chat messages with an answer (EvalScope General-VQA)",
    suffixes=(".jsonl", ".tsv", ".csv"),
    rows=_rows,
    records=_records,
    mismatch=_mismatch,
    write=_write,
    cuttable=True,
)
