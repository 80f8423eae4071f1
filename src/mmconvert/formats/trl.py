r"""TRL's vision data, parquet or JSON Lines: `images` (or one `image`) with `messages`, or `prompt` and `completion`.

Content is a list of parts, `{"type": "image"}` standing for the next picture, or a plain text; then all
pictures stand in front of the first user turn. Parquet holds pictures, JSON Lines their paths (read them
with `cast_column("images", List(Image()))`). Written are parts with the keys `type` and `text` alone, ""
for pictures: chat templates take any further key, and a null, for content. Source: huggingface/trl@f2cd577
docs/source/dataset_formats.md, trl/data_utils.py:prepare_multimodal_messages.

Kept: `id` as `sample`, other fields in `extra`, those of a message in `extra.messages_extra`.
Refused: more or fewer image parts than pictures (`placeholder.count`), unknown parts, tool calls, videos,
sounds.
Lost: whether content was one text or parts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from mmconvert.chat import conversations, training
from mmconvert.chat.export_images import write_image_path
from mmconvert.chat.openai import list_part_types
from mmconvert.core.errors import RowError, in_field, quote_value, show
from mmconvert.core.record import IMAGE_TYPE, SCHEMA, Part, Record, Turn, attach_features
from mmconvert.core.rows import Row
from mmconvert.core.text.image_markers import check_count, escape, unescape
from mmconvert.dataset.views import split_prompt_completion
from mmconvert.dataset.write_parquet import build_image_cell, write_parquet
from mmconvert.io import jsonl, parquet
from mmconvert.io.write_delimited import write_jsonl
from mmconvert.kits.evalscope.outputs import MARKS
from mmconvert.plugins.format import Context, Format, Loss, Sample, Target

SPLIT = "prompt-completion"
"""`--columns` that writes `prompt` and `completion` in the place of `messages`."""

_SPEAKERS = {"prompt": "user", "completion": "assistant"}
_TURNS = SCHEMA.field("messages").type


def _build_schema(*names: str) -> pa.Schema:
    turns = [(name, _TURNS) for name in names]
    return attach_features(pa.schema([("id", pa.string()), ("images", pa.list_(IMAGE_TYPE)), *turns]))


SCHEMAS = {None: _build_schema("messages"), SPLIT: _build_schema("prompt", "completion")}
"""Columns of a parquet file by the name that `--columns` takes."""


class _RawMessage(msgspec.Struct, frozen=True):
    """One message as it is read.

    Attributes:
        turn: Role and parts.
        pictures: For each image part the picture it brings itself with its place, None for the next of the row's.
        plain: Its content was one text.
        extra: Its other fields.
    """

    turn: Turn
    pictures: tuple[tuple[str, Any] | None, ...]
    plain: bool
    extra: dict[str, Any]


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    conversations.refuse_media(fields)
    many, one = fields.pop("images", None), fields.pop("image", None)
    values = conversations.list_elements(many, "images") or conversations.list_elements(one, "image")
    messages = [_read_message(value, where) for value, where in _read_raw_messages(fields)]
    if values and all(own is not None for message in messages for own in message.pictures):
        messages = _put_images_in_front(messages, len(values))
    owns = [own for message in messages for own in message.pictures]
    check_count(owns.count(None), len(values), "images")
    rest = iter(values)
    images = []
    for slot, own in enumerate(owns, 1):
        place, value = own or next(rest)
        with in_field(place):
            images.append(conversations.load_image(value, slot, context))
    turns = [message.turn for message in messages]
    extras = [message.extra for message in messages]
    yield conversations.build_conversation_record(row, context, fields, turns, images, extras)


def _read_raw_messages(fields: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Take `messages`, or `prompt` and `completion`, out of a row."""
    names = ("messages",) if fields.get("messages") is not None else ("prompt", "completion")
    for name in names:
        value = fields.pop(name, None)
        if value is None and name == "completion":
            continue
        if isinstance(value, str) and name in _SPEAKERS:
            value = [{"role": _SPEAKERS[name], "content": value}]
        for number, message in enumerate(conversations.read_messages(value, name)):
            yield message, f"{name}[{number}]"


def _read_message(message: Mapping[str, Any], where: str) -> _RawMessage:
    role, content = conversations.read_role(message.get("role"), f"{where}.role"), message.get("content")
    if message.get("tool_calls"):
        raise RowError("media.unsupported", where, "tool calls are not supported yet. Leave the row out.")
    extra = {name: value for name, value in message.items() if name not in ("role", "content") and value is not None}
    if isinstance(content, str):
        return _RawMessage(Turn(role, (Part("text", unescape(content)),)), (), True, extra)
    if not isinstance(content, list):
        raise RowError("messages.content", f"{where}.content", f"expected a text or a list of parts {show(content)}.")
    parts: list[Part] = []
    images: list[tuple[str, Any] | None] = []
    for number, value in enumerate(content):
        field = f"{where}.content[{number}]"
        part = {k: v for k, v in value.items() if v is not None} if isinstance(value, dict) else {}
        kind, text = part.get("type"), part.get("text", "")
        if kind == "text" and isinstance(text, str):
            parts.append(Part("text", unescape(text)))
        elif kind == "image" and text == "":
            parts.append(Part("image"))
            images.append((f"{field}.image", part["image"]) if "image" in part else None)
        elif kind in ("audio", "video"):
            raise RowError(
                "media.unsupported", field, f"parts of type {quote_value(kind)} are not supported. Leave the row out."
            )
        else:
            raise RowError("messages.part", field, f"expected a text or image part {show(value)}.")
    return _RawMessage(Turn(role, tuple(parts)), tuple(images), False, extra)


def _put_images_in_front(messages: Sequence[_RawMessage], count: int) -> list[_RawMessage]:
    """Put pictures in front of the first user turn, as TRL does where that is a plain text."""
    first = next((n for n, message in enumerate(messages) if message.turn.role == "user"), None)
    if first is None or not messages[first].plain:
        return [*messages]
    turn = messages[first].turn
    words = tuple(part for part in turn.content if part.text)
    shown = replace(turn, content=(*[Part("image")] * count, *words))
    return [*messages[:first], replace(messages[first], turn=shown, pictures=(None,) * count), *messages[first + 1 :]]


def _find_mismatch(sample: Sample) -> str | None:
    columns = set(sample.columns)
    names = ("messages",) if "messages" in columns else ("prompt", "completion")
    clash = sample.find_clash(("image_info", "prediction", "conversations", *MARKS))
    if wrong := clash or sample.find_missing(names):
        return wrong
    values = [row.get(name) for row in sample.rows for name in names]
    types = {kind for value in values for kind in list_part_types(value)}
    if "image_url" in types:
        return "pictures are parts of type image_url"
    contents = [message.get("content") for value in values for message in conversations.list_objects(value)]
    if any("<image>" in content for content in contents if isinstance(content, str)):
        return "<image> stands in plain texts"
    if not ("image" in types or columns & {"images", "image"}) and sample.suffix == ".jsonl" and "messages" in columns:
        return "no column 'images' and no image part"
    return None


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    losses: list[Loss] = []
    if target.path.suffix.lower() == ".jsonl":
        lines = training.build_training_rows(records, losses, lambda record: _build_line(record, target, losses))
        write_jsonl(lines, target.path)
    else:
        rows = training.build_training_rows(records, losses, lambda record: _build_cells(record, target, losses))
        write_parquet(rows, SCHEMAS[target.columns], target.path)
    yield from dict.fromkeys(losses)


def _build_line(record: Record, target: Target, losses: list[Loss]) -> dict[str, Any]:
    turns = _build_turns(record, target, training.read_messages_extra(record))
    paths = [write_image_path(image, target) for image in record.images]
    fields = {**training.build_source_id(record), "images": paths, **turns}
    return training.add_extra_fields(fields, record, losses, ("images", "image", "messages", "prompt", "completion"))


def _build_cells(record: Record, target: Target, losses: list[Loss]) -> dict[str, Any]:
    training.report_lost_extra(record, losses)
    turns = _build_turns(record, target, [{}] * len(record.messages))
    return {**training.build_source_id(record), "images": [build_image_cell(image) for image in record.images], **turns}


def _build_turns(record: Record, target: Target, extras: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    rows = [_build_turn(turn, more) for turn, more in zip(record.messages, extras, strict=True)]
    if target.columns is None:
        return {"messages": rows}
    cut = len(split_prompt_completion(record)[0])
    return {"prompt": rows[:cut], "completion": rows[cut:]}


def _build_turn(turn: Turn, more: Mapping[str, Any]) -> dict[str, Any]:
    # Processors whose token it is would read a literal <image> as a picture.
    parts = [{"type": part.type, "text": escape(part.text)} for part in turn.content]
    kept = {name: value for name, value in more.items() if name not in ("role", "content")}
    return {"role": turn.role, "content": parts, **kept}


FORMAT = Format(
    summary="TRL vision data: images with messages, or with prompt and completion",
    suffixes=(".parquet", ".jsonl"),
    rows=lambda path, span: (jsonl if path.suffix.lower() == ".jsonl" else parquet).rows(path, span),
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    cuttable=True,
    columns=(SPLIT,),
    images={".parquet": ("inline",), ".jsonl": ("files", "original")},
)
