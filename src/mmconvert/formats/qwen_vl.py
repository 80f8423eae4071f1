r"""Qwen-VL training data, both forms: `<img>` inside the text, and `image` beside `conversations`.

Qwen2.5-VL and Qwen3-VL: a JSON array or JSON Lines; `image` is a path or a list, each `<image>` of a
`human` turn takes the next one, each `<video>` the next of `video` (LLaVA's rows with a
video say `<image>` for it); a `gpt` turn's text is only text. Qwen-VL (the first; `--columns v1` to
write it): a JSON array, images stand in the text as `Picture k: <img>path</img>\n`, turns are from
`user` and `assistant`. Which form a row has, its role words tell. A list of rows, as Qwen packs them,
gives a record for each. Source: QwenLM/Qwen3-VL@9658872 qwen-vl-finetune/README.md,
qwenvl/data/data_processor.py; QwenLM/Qwen-VL@aa00ed0 README.md, finetune.py.

Kept: `id` as `sample`, other fields in `extra`, those of a message in `extra.messages_extra`.
Refused: more or fewer `<image>` than images (`placeholder.count`), tool calls, sounds, videos without `--frames`
(`media.unsupported`).
Lost: which of the two forms a row had, which rows a list packed into one sequence.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from mmconvert.chat import conversations, training
from mmconvert.chat.export_images import write_image_path
from mmconvert.chat.videos import take_videos
from mmconvert.core.errors import RowError, in_field, show
from mmconvert.core.record import Image, Part, Record, Turn
from mmconvert.core.rows import Row
from mmconvert.core.text.image_markers import IMAGE, VIDEO, Markers, escape, unescape
from mmconvert.io.row_files import read_rows
from mmconvert.io.write_delimited import write_rows
from mmconvert.plugins.format import Context, Format, Loss, Sample, Target

MARKERS = Markers(("image", "video"), line_break=True)
KEYS = ("from", "value")
NAMES = {"user": "human", "assistant": "gpt"}
SHOWN_BY = ("user",)
INLINE = "v1"
INLINE_WORDS = ("img", "/img")

_IMAGE = re.compile(r"(?:Picture (\d+): )?<img>([^<>\n]*)</img>(\n?)")


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    videos = take_videos(fields, context)
    sampled = context.images.sampling is not None
    messages = conversations.read_messages(fields.pop("conversations", None), "conversations")
    if _is_inline(messages) and not conversations.as_list(fields.get("image")):
        if videos:
            raise RowError("media.unsupported", "video", "Qwen-VL's first form shows no videos. Leave the row out.")
        yield conversations.build_conversation_record(row, context, fields, *_read_inline_turns(messages, context))
        return
    turns, extras = conversations.read_marked_turns(messages, "conversations", KEYS, MARKERS, SHOWN_BY, sampled)
    value = fields.pop("image", None)
    if videos and not conversations.as_list(value) and not conversations.count_image_parts(turns, VIDEO):
        turns = tuple(map(_show_videos, turns))
    turns, images = conversations.load_shown_media(value, "image", videos, turns, context)
    yield conversations.build_conversation_record(row, context, fields, turns, images, extras)


def _show_videos(turn: Turn) -> Turn:
    """Let markers of images stand for videos, as LLaVA's trainers do."""
    return replace(turn, content=tuple(Part(VIDEO) if part.type == IMAGE else part for part in turn.content))


def _is_inline(messages: Iterable[dict[str, Any]]) -> bool:
    return any(turn.get("from") == "user" for turn in messages)


def _read_inline_turns(
    messages: Sequence[dict[str, Any]], context: Context
) -> tuple[list[Turn], list[Image], list[dict[str, Any]]]:
    turns: list[Turn] = []
    images: list[Image] = []
    extras: list[dict[str, Any]] = []
    for number, message in enumerate(messages):
        where = f"conversations[{number}]"
        role, text = conversations.read_role(message.get("from"), f"{where}.from"), message.get("value")
        if not isinstance(text, str):
            raise RowError("messages.content", f"{where}.value", f"expected a text {show(text)}.")
        with in_field(f"{where}.value"):
            turns.append(Turn(role, _read_inline_parts(text, images, context)))
        extras.append({name: item for name, item in message.items() if name not in KEYS and item is not None})
    return turns, images, extras


def _read_inline_parts(text: str, images: list[Image], context: Context) -> tuple[Part, ...]:
    """Cut a text at its images, which are loaded and added to `images`."""
    parts: list[Part] = []
    at = 0
    for match in _IMAGE.finditer(text):
        images.append(conversations.load_image(match[2], len(images) + 1, context))
        numbered = match[1] == str(len(images))
        # Name and line break belong to the image only where they are those that Qwen-VL writes.
        start, end = (match.start(), match.end()) if numbered else (text.index("<img>", match.start()), match.start(3))
        if start > at:
            parts.append(Part("text", unescape(text[at:start], INLINE_WORDS)))
        parts.append(Part("image"))
        at = end
    if at < len(text) or not parts:
        parts.append(Part("text", unescape(text[at:], INLINE_WORDS)))
    return tuple(parts)


def _find_mismatch(sample: Sample) -> str | None:
    if "conversations" not in sample.columns:
        return "no field 'conversations'"
    if "images" in sample.columns:
        return "it has a field 'images', not 'image'"
    talks = [conversations.list_objects(row.get("conversations")) for row in sample.rows]
    if not all("value" in turn for turns in talks for turn in turns):
        return "turns have no 'value'"
    if any(_is_inline(talk) and not row.get("image") for talk, row in zip(talks, sample.rows, strict=True)):
        return None
    if "video" in sample.columns:
        return None
    if "image" not in sample.columns:
        return "no field 'image' or 'video', and no turn from 'user'"
    if sample.suffix == ".json" and not any(_has_inline_markers(row) for row in sample.rows):
        return "each row has one image at most, as LLaVA has"
    return None


def _has_inline_markers(row: Any) -> bool:
    """Tell a row that LLaVA's form cannot say."""
    text = "".join(str(turn.get("value")) for turn in conversations.list_objects(row.get("conversations")))
    return isinstance(row.get("image"), list) or text.count("<image>") > 1


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    losses: list[Loss] = []
    fields = _build_inline_fields if target.columns == INLINE else _build_fields
    rows = training.build_training_rows(
        records, losses, lambda record: fields(record, target, losses), first_row=target.first_row
    )
    write_rows(lambda: rows, target)
    yield from dict.fromkeys(losses)


def _build_fields(record: Record, target: Target, losses: list[Loss]) -> dict[str, Any]:
    record = training.drop_system_turns(record, losses)
    training.require_alternation(record.messages)
    if any(part.type == "image" for turn in record.messages if turn.role == "assistant" for part in turn.content):
        raise RowError("target.images", "messages", "Qwen's form shows no image in an assistant's turn.")
    fields: dict[str, Any] = {**training.build_source_id(record)}
    paths = [write_image_path(image, target) for image in record.images]
    if paths:
        fields["image"] = paths[0] if len(paths) == 1 else paths
    fields["conversations"] = training.build_message_rows(record, KEYS, NAMES, MARKERS, SHOWN_BY)
    return training.add_extra_fields(fields, record, losses, ("image",))


def _build_inline_fields(record: Record, target: Target, losses: list[Loss]) -> dict[str, Any]:
    record = training.drop_system_turns(record, losses)
    training.require_alternation(record.messages)
    images = iter(enumerate((write_image_path(image, target) for image in record.images), 1))
    turns = []
    for turn, more in zip(record.messages, training.read_messages_extra(record), strict=True):
        kept = {name: value for name, value in more.items() if name not in KEYS}
        turns.append({"from": turn.role, "value": _format_inline_turn(turn, images), **kept})
    fields = {**training.build_source_id(record), "conversations": turns}
    return training.add_extra_fields(fields, record, losses, ("image",))


def _format_inline_turn(turn: Turn, images: Iterator[tuple[int, str]]) -> str:
    pieces: list[str] = []
    text = ""
    for part in turn.content:
        if part.type == "text":
            text += part.text
            continue
        number, path = next(images)
        if set(path) & set("<>\n"):
            raise RowError("target.images", "images", f"the path cannot be part of a text {show(path)}.")
        pieces += [escape(text, INLINE_WORDS), f"Picture {number}: <img>{path}</img>\n"]
        text = ""
    return "".join([*pieces, escape(text, INLINE_WORDS)])


FORMAT = Format(
    summary="Qwen-VL, Qwen2.5-VL and Qwen3-VL training data",
    suffixes=(".json", ".jsonl"),
    rows=read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    splittable=True,
    cuttable=True,
    columns=(INLINE,),
    images=("files", "original"),
    videos=True,
)
