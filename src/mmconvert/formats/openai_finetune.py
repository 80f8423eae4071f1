"""OpenAI's fine-tuning data: JSON Lines with `messages` that end with the assistant, under the service's limits.

Images are `image_url` parts of user messages; parts of type `image` with a `source`, and a `system` beside the
messages, are read as Anthropic has them. What the service would refuse is left out when writing and named: more than
10 images in an example, one over 10 MB, one that is not JPEG, PNG or WEBP in RGB or RGBA, examples with images beyond
50,000. Source: the vision fine-tuning guide of developers.openai.com.

Kept: fields beside the messages in `extra`, those of a message in `extra.messages_extra`.
Refused: unknown roles and parts (`messages.role`, `messages.part`), tool calls, files, sounds, videos without
`--frames` (`media.unsupported`).
Lost: nothing.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from msgspec import UNSET

from mmconvert.chat.conversations import as_list, build_conversation_record, read_messages, take_system_turn
from mmconvert.chat.losses import NO_FIELD
from mmconvert.chat.openai import (
    build_part,
    ends_with_assistant,
    holds_part_values,
    list_own_keys,
    list_part_types,
    read_content,
    read_message,
    require_json_lines,
)
from mmconvert.chat.plain_lines import read_plain_lines
from mmconvert.chat.training import build_source_id, build_training_rows, read_messages_extra, report_lost_extra
from mmconvert.chat.videos import VIDEOS
from mmconvert.core.errors import RowError, quote_value
from mmconvert.core.plain_chats import PlainLine
from mmconvert.core.record import Image, Record, Turn
from mmconvert.core.rows import Row
from mmconvert.core.text.placeholders import parse_image_slot
from mmconvert.images.verify import open_image
from mmconvert.io.row_files import read_rows
from mmconvert.io.write_delimited import write_jsonl
from mmconvert.kits.evalscope.outputs import MARKS
from mmconvert.plugins.format import Context, Format, Loss, PlainReader, Sample, Target

MAX_IMAGES = 10
MAX_IMAGE_BYTES = 10_000_000
MAX_IMAGE_EXAMPLES = 50_000
MIN_EXAMPLES = 10
FORMATS = ("JPEG", "PNG", "WEBP")
MODES = ("RGB", "RGBA")

_ELSEWHERE = ("images", "image")
_OF_PAIRS = ("rejected_response", "rejected_messages", "rejected_images", "chosen", "rejected")
"""Fields of other formats' preference pairs, whose `messages` end with the chosen response."""

_HELD = ("messages_extra", "tools", "parallel_tool_calls", "functions")
_MESSAGE_FIELDS = ("role", "name", "weight")


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    for name in _ELSEWHERE:
        if as_list(fields.get(name)):
            raise RowError("image.type", name, "images are inside the messages here. Try --format ms_swift or trl.")
    turns: list[Turn] = []
    images: list[Image] = []
    extras: list[dict[str, Any]] = []
    for number, message in enumerate(read_messages(fields.pop("messages", None), "messages")):
        where = f"messages[{number}]"
        role, content, extra = read_message(message, where)
        parts, shown = read_content(content, where, len(images), context)
        turns.append(Turn(role, parts))
        images += shown
        extras.append(extra)
    if isinstance(fields.get("system"), str) and all(turn.role != "system" for turn in turns):
        told, extras = take_system_turn(fields, tuple(turns), extras)
        turns = [*told]
    yield build_conversation_record(row, context, fields, turns, images, extras)


def _read_plain_lines(raw: bytes) -> list[PlainLine] | None:
    lines = read_plain_lines(raw)
    # An answer beside the messages is a further field here.
    return None if lines is None or any(line.answer is not UNSET for line in lines) else lines


def _find_mismatch(sample: Sample) -> str | None:
    if "messages" not in sample.columns:
        return "no field 'messages'"
    foreign = {*_ELSEWHERE, *_OF_PAIRS, *VIDEOS, *MARKS, "answer"}
    others = (name for name in sample.columns if name in foreign or parse_image_slot(name) is not None)
    if clash := sample.find_clash(others, "field"):
        return clash
    if not all(list_own_keys(row.get("messages")) <= {"source"} for row in sample.rows):
        return "a part is of type 'image', not 'image_url'"
    if any(holds_part_values(row.get("messages")) for row in sample.rows):
        return "parts hold their content in 'value', as LLaMA-Factory v1 writes them"
    if sample.suffix == ".json" and not any(list_part_types(row.get("messages")) for row in sample.rows):
        return "messages of texts alone in a .json file, as LLaMA-Factory has them"
    if not all(ends_with_assistant(row.get("messages")) for row in sample.rows):
        return "a row does not end with the assistant"
    return None


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    require_json_lines(target)
    losses: list[Loss] = []
    limits = _Limits()
    build = partial(_build_fields, target=target, losses=losses, limits=limits)
    write_jsonl(build_training_rows(records, losses, build, addresses=True), target.path)
    yield from dict.fromkeys(losses)
    if limits.examples < MIN_EXAMPLES:
        message = f"the file has {limits.examples} examples, OpenAI requires {MIN_EXAMPLES} at least"
        yield Loss("", "examples", message)


class _Limits:
    """How much of what the service takes has been written."""

    def __init__(self) -> None:
        self.examples = self.with_images = 0

    def check(self, record: Record) -> None:
        """Refuse a record that the service would refuse.

        Raises:
            RowError: `target.images`, `target.image`, `target.examples`.
        """
        images = iter(record.images)
        for turn in record.messages:
            shown = [next(images) for part in turn.content if part.type == "image"]
            if shown and turn.role != "user":
                raise RowError("target.images", "messages", f"an image is in the {turn.role}'s turn.")
        if len(record.images) > MAX_IMAGES:
            raise RowError("target.images", "images", f"{len(record.images)} images, {MAX_IMAGES} at most.")
        for image in record.images:
            _check_image(image)
        if record.images and self.with_images >= MAX_IMAGE_EXAMPLES:
            message = f"the file has {MAX_IMAGE_EXAMPLES:,} examples with images already."
            raise RowError("target.examples", "images", message)
        self.examples += 1
        self.with_images += bool(record.images)


def _check_image(image: Image) -> None:
    if image.bytes is None:
        return
    if len(image.bytes) > MAX_IMAGE_BYTES:
        raise RowError("target.image", "images", f"an image has {len(image.bytes):,} bytes, 10 MB at most.")
    if image.format not in FORMATS:
        raise RowError("target.image", "images", f"an image is {image.format}, not {', '.join(FORMATS)}.")
    try:
        with open_image(image.bytes, reduce=True) as opened_image:
            mode = opened_image.mode
    except RowError as error:
        raise RowError("target.image", "images", error.message) from None
    if mode not in MODES:
        raise RowError("target.image", "images", f"an image has the mode {mode}, not RGB or RGBA.")


def _build_fields(record: Record, target: Target, losses: list[Loss], limits: _Limits) -> dict[str, Any]:
    limits.check(record)
    images = iter(record.images)
    inline = Target(target.path)
    messages = []
    for turn, more in zip(record.messages, read_messages_extra(record), strict=True):
        content: Any = [build_part(part, images, inline) for part in turn.content]
        if len(content) == 1 and content[0]["type"] == "text":
            content = content[0]["text"]
        unknown = [name for name in more if name not in _MESSAGE_FIELDS]
        losses += [
            Loss(record.id, "messages_extra", f"OpenAI has no {quote_value(name)}", remark=True) for name in unknown
        ]
        kept = {name: value for name, value in more.items() if name in _MESSAGE_FIELDS}
        messages.append({"role": turn.role, "content": content, **kept})
    if build_source_id(record):
        losses.append(Loss(record.id, "id", NO_FIELD, remark=True))
    report_lost_extra(record, losses, kept=_HELD)
    held = {name: record.extra[name] for name in _HELD[1:] if name in record.extra}
    return {"messages": messages, **held}


FORMAT = Format(
    summary="OpenAI fine-tuning data, its limits checked",
    suffixes=(".jsonl", ".json"),
    rows=read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    cuttable=True,
    images=("inline",),
    videos=True,
    plain=PlainReader(_read_plain_lines, read_rows, _read_records, training=True),
)
