"""LLaMA-Factory's v1 data: `messages` whose content is a list of `{"type", "value"}` parts.

A part of type `text` is a text, of type `image_url` an image (path, data URL or address). `reasoning` of an assistant
stands in its turn between `<think>` and `</think>`, as LLaMA-Factory's templates write it. `loss_weight` of a turn is
kept, but no view and no other format applies it; where it is absent the usual one counts. Images are written as
files, `image_url` holding the path, or the address of one without bytes. Source: hiyouga/LLaMA-Factory@ff6d4d1
data/v1_sft_demo.jsonl, src/llamafactory/v1/plugins/data_plugins/converter.py.

Kept: `id` as `sample`, other fields in `extra`, `loss_weight` and others of a message in `extra.messages_extra`.
Refused: other types of parts (`messages.part`), tool calls, videos, sounds (`media.unsupported`).
Lost: whether a `<think>` stood in a text or in a part of its own.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from mmconvert.chat import conversations, training
from mmconvert.chat.openai import build_valued_messages, holds_part_values
from mmconvert.core.errors import RowError, in_field, quote_value, show
from mmconvert.core.record import Image, Part, Record, Turn
from mmconvert.core.rows import Row
from mmconvert.io.row_files import read_rows
from mmconvert.io.write_delimited import write_rows
from mmconvert.plugins.format import Context, Format, Loss, Sample, Target

MESSAGES = "messages"
KEYS = ("role", "content")
TEXT, IMAGE, REASONING = "text", "image_url", "reasoning"
UNREAD = ("video_url", "audio_url", "tool_call")
WEIGHT = "loss_weight"
WEIGHTS = {"assistant": 1}
"""Role -> the usual weight of its turns, which is 0 for any other."""

THOUGHT = "<think>\n{}\n</think>\n\n"


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    conversations.refuse_media(fields)
    turns: list[Turn] = []
    images: list[Image] = []
    extras: list[dict[str, Any]] = []
    for number, message in enumerate(conversations.read_messages(fields.pop(MESSAGES, None), MESSAGES)):
        where = f"{MESSAGES}[{number}]"
        role = conversations.read_role(message.get("role"), f"{where}.role")
        content = message.get("content")
        if not isinstance(content, list) or not content:
            raise RowError("messages.content", f"{where}.content", f"expected a list of parts {show(content)}.")
        places = ((f"{where}.content[{place}]", part) for place, part in enumerate(content))
        turns.append(Turn(role, tuple(_read_part(part, place, role, images, context) for place, part in places)))
        extras.append({name: value for name, value in message.items() if name not in KEYS and value is not None})
    weights = [(turn.role, extra[WEIGHT]) for turn, extra in zip(turns, extras, strict=True) if WEIGHT in extra]
    if any(weight != WEIGHTS.get(role, 0) for role, weight in weights):
        context.warn(f"an unusual {WEIGHT} is kept in messages_extra; no view and no other format applies it")
    yield conversations.build_conversation_record(row, context, fields, turns, images, extras)


def _read_part(part: Any, place: str, role: str, images: list[Image], context: Context) -> Part:
    """Read a part; an image is loaded and added to `images`."""
    kind = part.get("type") if isinstance(part, dict) else None
    if kind in UNREAD:
        raise RowError("media.unsupported", place, f"parts of type {quote_value(kind)} are not supported yet.")
    if kind not in (TEXT, IMAGE, REASONING) or (kind == REASONING and role != "assistant"):
        raise RowError("messages.part", place, f"expected a part of type {TEXT} or {IMAGE} {show(part)}.")
    value = part.get("value")
    if kind == IMAGE:
        with in_field(f"{place}.value"):
            images.append(conversations.load_image(value, len(images) + 1, context))
        return Part("image")
    if not isinstance(value, str):
        raise RowError("messages.content", f"{place}.value", f"expected a text {show(value)}.")
    return Part("text", THOUGHT.format(value) if kind == REASONING else value)


def _find_mismatch(sample: Sample) -> str | None:
    if MESSAGES not in sample.columns:
        return f"no field {MESSAGES!r}"
    if not all(holds_part_values(row.get(MESSAGES)) for row in sample.rows):
        return "content is not always a list of parts with 'type' and 'value'"
    return None


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    losses: list[Loss] = []
    build = partial(_build_fields, target=target, losses=losses)
    rows = training.build_training_rows(records, losses, build, addresses=True)
    write_rows(lambda: rows, target)
    yield from dict.fromkeys(losses)


def _build_fields(record: Record, target: Target, losses: list[Loss]) -> dict[str, Any]:
    images, extras = iter(record.images), training.read_messages_extra(record)
    fields: dict[str, Any] = {
        **training.build_source_id(record),
        MESSAGES: build_valued_messages(record.messages, extras, images, target),
    }
    return training.add_extra_fields(fields, record, losses, (MESSAGES, *conversations.MEDIA))


FORMAT = Format(
    summary="LLaMA-Factory v1 data: messages of parts with type and value",
    suffixes=(".jsonl", ".json"),
    rows=read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    cuttable=True,
    images=("files", "original"),
)
