r"""TRL's vision data: `images` (or one `image`) with `messages`, with `prompt` and `completion`, or with pairs.

Preference pairs are `prompt`, `chosen` and `rejected`, texts or turns; without a `prompt` (or where it is a text and
the sides are turns) what both sides begin with is the prompt, as TRL's `extract_prompt` has it.

Content is a list of parts, `{"type": "image"}` standing for the next image, `{"type": "video"}` for the next of
`videos`, each with its own under `image`, `video`, `url` or `path` where it has one; or a plain text; then all images
stand in front of the first user turn. Parquet holds images, JSON Lines their paths (read them with
`cast_column("images", List(Image()))`). Written are parts with the keys `type` and `text` alone, "" for images: chat
templates take any further key, and a null, for content. Source: huggingface/trl@f2cd577
docs/source/dataset_formats.md, trl/data_utils.py:prepare_multimodal_messages.

Kept: `id` as `sample`, other fields in `extra`, those of a message in `extra.messages_extra`.
Refused: more or fewer image parts than images (`placeholder.count`), unknown parts, tool calls, sounds, videos without
`--frames` (`media.unsupported`); pairs without a common beginning (`preference.prompt`).
Lost: whether content was one text or parts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from mmconvert.chat import conversations, training
from mmconvert.chat.export_images import write_image_path
from mmconvert.chat.openai import find_own_key, list_own_keys, list_part_types, read_part_clip
from mmconvert.chat.preference import (
    SIDES,
    build_pair_record,
    count_shared,
    holds_pairs,
    holds_sides,
    list_scores,
    select_rows,
)
from mmconvert.chat.videos import VIDEOS, load_frames, take_videos
from mmconvert.core.errors import RowError, in_field, quote_value, show
from mmconvert.core.record import IMAGE_TYPE, SCHEMA, SCORES, Image, Part, Record, Turn, attach_features
from mmconvert.core.rows import Row
from mmconvert.core.text.image_markers import IMAGE, NO_SAMPLING, VIDEO, check_count, escape, unescape
from mmconvert.dataset.views import split_pair, split_prompt_completion
from mmconvert.dataset.write_parquet import build_image_cell, write_parquet
from mmconvert.images.video import WHOLE, Clip
from mmconvert.io.row_files import read_rows
from mmconvert.io.write_delimited import write_rows
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

PAIR_SCHEMA = attach_features(pa.schema([*_build_schema("prompt", *SIDES), *((name, pa.float64()) for name in SCORES)]))
"""Columns of a parquet file of preference pairs."""


class _Shown(msgspec.Struct, frozen=True):
    """An image or video part: what it brings itself with its place, None for the next of the row's; seconds of it."""

    kind: str
    own: tuple[str, Any] | None = None
    clip: Clip = WHOLE


class _RawMessage(msgspec.Struct, frozen=True):
    """One message as it is read.

    Attributes:
        turn: Role and parts.
        shows: What each image and video part shows.
        plain: Its content was one text.
        extra: Its other fields.
    """

    turn: Turn
    shows: tuple[_Shown, ...]
    plain: bool
    extra: dict[str, Any]


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    videos = take_videos(fields, context)
    many, one = fields.pop("images", None), fields.pop("image", None)
    values = conversations.list_elements(many, "images") or conversations.list_elements(one, "image")
    sides = _take_sides(fields) if all(fields.get(name) is not None for name in SIDES) else None
    raw = _read_raw_messages(fields) if sides is None else chain.from_iterable(sides)
    messages = [_read_message(value, where, context) for value, where in raw]
    if values and all(one.own for message in messages for one in message.shows if one.kind == IMAGE):
        messages = _put_images_in_front(messages, len(values))
    turns, images = _load_media(messages, values, videos, context)
    extras = [message.extra for message in messages]
    if sides is None:
        yield conversations.build_conversation_record(row, context, fields, turns, images, extras)
        return
    first, second = len(sides[0]), len(sides[0]) + len(sides[1])
    parts = (turns[:first], turns[first:second], turns[second:])
    _keep_side_extras(fields, extras, first, second)
    yield build_pair_record(row, context, fields, parts, images, extras[:first])


def _load_media(
    messages: Sequence[_RawMessage],
    values: Sequence[tuple[str, Any]],
    videos: Sequence[tuple[str, Any]],
    context: Context,
) -> tuple[list[Turn], list[Image]]:
    """Load what parts bring themselves or what is next in the row, frames in the place of a video."""
    missing = [one.kind for message in messages for one in message.shows if one.own is None]
    check_count(missing.count(IMAGE), len(values), "images")
    check_count(missing.count(VIDEO), len(videos), VIDEOS[0], VIDEO)
    rest = {IMAGE: iter(values), VIDEO: iter(videos)}
    images: list[Image] = []
    turns = []
    for message in messages:
        shows, parts = iter(message.shows), list[Part]()
        for part in message.turn.content:
            if part.type == "text":
                parts.append(part)
                continue
            one, slot = next(shows), len(images) + 1
            place, value = one.own or next(rest[one.kind])
            with in_field(place):
                if one.kind == VIDEO:
                    images += load_frames(value, slot, context, one.clip)
                else:
                    images.append(conversations.load_image(value, slot, context))
            parts += [Part(IMAGE)] * (len(images) + 1 - slot)
        turns.append(replace(message.turn, content=tuple(parts)))
    return turns, images


_Placed = list[tuple[dict[str, Any], str]]
"""Messages with their places."""


def _take_sides(fields: dict[str, Any]) -> tuple[_Placed, _Placed, _Placed]:
    """Take prompt, chosen and rejected out of a row, each as messages; a text is one message."""
    prompt, chosen, rejected = (fields.pop(name, None) for name in ("prompt", *SIDES))
    if isinstance(chosen, str) != isinstance(rejected, str):
        raise RowError("messages.type", "rejected", "expected two texts, or two lists of messages. Write both alike.")
    implicit = prompt is None or isinstance(prompt, str) != isinstance(chosen, str)
    if implicit and isinstance(prompt, list):
        raise RowError("messages.type", "prompt", "expected a text, since both sides are texts. Write all three alike.")
    if not isinstance(chosen, str):
        for name, value in zip(SIDES, (chosen, rejected), strict=True):
            conversations.read_messages(value, name)
    count = count_shared(chosen, rejected) if implicit else 0
    if implicit:
        if not count:
            raise RowError("preference.prompt", "prompt", "there is none, and both sides begin with other words.")
        prompt = chosen[:count]
    return (
        list(_place_messages(prompt, "prompt" if not implicit else "chosen", "user")),
        list(_place_messages(chosen[count:], "chosen", "assistant", count)),
        list(_place_messages(rejected[count:], "rejected", "assistant", count)),
    )


def _place_messages(value: Any, name: str, speaker: str, start: int = 0) -> Iterator[tuple[dict[str, Any], str]]:
    if isinstance(value, str):
        yield {"role": speaker, "content": value}, name
        return
    for number, message in enumerate(conversations.read_messages(value, name), start):
        yield message, f"{name}[{number}]"


def _keep_side_extras(fields: dict[str, Any], extras: Sequence[dict[str, Any]], first: int, second: int) -> None:
    """Keep the further fields of the messages of both sides, each under its own name."""
    for name, found in zip(SIDES, (extras[first:second], extras[second:]), strict=True):
        if any(found):
            fields[f"{name}_extra"] = found


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


def _read_message(message: Mapping[str, Any], where: str, context: Context) -> _RawMessage:
    role, content = conversations.read_role(message.get("role"), f"{where}.role"), message.get("content")
    if message.get("tool_calls"):
        raise RowError("media.unsupported", where, "tool calls are not supported yet. Leave the row out.")
    extra = {name: value for name, value in message.items() if name not in ("role", "content") and value is not None}
    if isinstance(content, str):
        return _RawMessage(Turn(role, (Part("text", unescape(content)),)), (), True, extra)
    if not isinstance(content, list):
        raise RowError("messages.content", f"{where}.content", f"expected a text or a list of parts {show(content)}.")
    parts: list[Part] = []
    shows: list[_Shown] = []
    for number, value in enumerate(content):
        field = f"{where}.content[{number}]"
        part = {k: v for k, v in value.items() if v is not None} if isinstance(value, dict) else {}
        kind, text = part.get("type"), part.get("text", "")
        if kind == "text" and isinstance(text, str):
            parts.append(Part("text", unescape(text)))
        elif kind in (IMAGE, VIDEO) and text == "":
            if kind == VIDEO and context.images.sampling is None:
                raise RowError("media.unsupported", field, NO_SAMPLING)
            key = find_own_key(part)
            parts.append(Part(kind))
            with in_field(field):
                clip = read_part_clip(part)
            shows.append(_Shown(kind, None if key is None else (f"{field}.{key}", part[key]), clip))
        elif kind == "audio":
            raise RowError(
                "media.unsupported", field, f"parts of type {quote_value(kind)} are not supported. Leave the row out."
            )
        else:
            raise RowError("messages.part", field, f"expected a text or image part {show(value)}.")
    return _RawMessage(Turn(role, tuple(parts)), tuple(shows), False, extra)


def _put_images_in_front(messages: Sequence[_RawMessage], count: int) -> list[_RawMessage]:
    """Put images in front of the first user turn, as TRL does where that is a plain text."""
    first = next((n for n, message in enumerate(messages) if message.turn.role == "user"), None)
    if first is None or not messages[first].plain:
        return [*messages]
    turn = messages[first].turn
    words = tuple(part for part in turn.content if part.text)
    shown = replace(turn, content=(*[Part("image")] * count, *words))
    return [
        *messages[:first],
        replace(messages[first], turn=shown, shows=(_Shown(IMAGE),) * count),
        *messages[first + 1 :],
    ]


def _find_mismatch(sample: Sample) -> str | None:
    columns = set(sample.columns)
    if columns.issuperset(SIDES):
        return _find_pair_mismatch(sample)
    names = ("messages",) if "messages" in columns else ("prompt", "completion")
    clash = sample.find_clash(("image_info", "prediction", "conversations", *MARKS))
    if wrong := clash or sample.find_missing(names):
        return wrong
    values = [row.get(name) for row in sample.rows for name in names]
    types = {kind for value in values for kind in list_part_types(value)}
    if sample.suffix == ".json" and types.isdisjoint((IMAGE, VIDEO)) and IMAGE not in columns:
        return "a .json file without 'chosen' and 'rejected', and without images"
    if "image_url" in types:
        return "images are parts of type image_url"
    keys = {key for value in values for key in list_own_keys(value)}
    if "source" in keys:
        return "image parts have a source, as Anthropic writes them"
    if "answer" in columns and "messages" in columns and keys and None not in keys:
        return "messages show their images and have an answer, as questions do"
    contents = [message.get("content") for value in values for message in conversations.list_objects(value)]
    if any("<image>" in content for content in contents if isinstance(content, str)):
        return "<image> is in plain texts"
    shows = {IMAGE, VIDEO} & types or columns & {"images", "image"}
    if not shows and sample.suffix == ".jsonl" and "messages" in columns:
        return "no column 'images' and no image part"
    return None


def _find_pair_mismatch(sample: Sample) -> str | None:
    if clash := sample.find_clash(("image_info", "prediction", "conversations", "question", "instruction", *MARKS)):
        return clash
    if not (holds_sides(sample, str) or holds_sides(sample, list)):
        return "chosen and rejected are neither texts nor lists of messages"
    if "prompt" not in sample.columns and "messages" in sample.columns and not holds_sides(sample, list):
        return "it has a column 'messages' beside texts"
    values = [row.get(name) for row in sample.rows for name in ("prompt", *SIDES)]
    if any("value" in message for value in values for message in conversations.list_objects(value)):
        return "messages have a key 'value'"
    texts = [value for value in values if isinstance(value, str)]
    texts += [str(message.get("content")) for value in values for message in conversations.list_objects(value)]
    return "<image> is in plain texts" if any("<image>" in text for text in texts) else None


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    losses: list[Loss] = []
    paired = holds_pairs(records)
    chosen = select_rows(records, losses, paired=paired)
    if target.path.suffix.lower() == ".parquet":
        build, build_pair = partial(_build_cells, target, losses), partial(_build_pair_cells, losses)
        rows = training.build_training_rows(chosen, losses, build, pair=build_pair)
        write_parquet(rows, PAIR_SCHEMA if paired else SCHEMAS[target.columns], target.path)
    else:
        build, build_pair = partial(_build_line, target, losses), partial(_build_pair_line, target, losses)
        lines = training.build_training_rows(chosen, losses, build, pair=build_pair, first_row=target.first_row)
        write_rows(lambda: lines, target)
    yield from dict.fromkeys(losses)


def _build_line(target: Target, losses: list[Loss], record: Record) -> dict[str, Any]:
    turns = _build_turns(record, target, training.read_messages_extra(record))
    paths = [write_image_path(image, target) for image in record.images]
    fields = {**training.build_source_id(record), "images": paths, **turns}
    return training.add_extra_fields(fields, record, losses, ("images", "image", "messages", "prompt", "completion"))


def _build_pair_line(target: Target, losses: list[Loss], record: Record) -> dict[str, Any]:
    record = split_pair(record)
    paths = [write_image_path(image, target) for image in record.images]
    sides = _build_sides(record, losses)
    fields = {**training.build_source_id(record), "images": paths, **sides, **list_scores(record)}
    taken = ("images", "image", "messages", "prompt", "completion", *SIDES, *SCORES)
    return training.add_extra_fields(fields, record, losses, taken)


def _build_pair_cells(losses: list[Loss], record: Record) -> dict[str, Any]:
    record = split_pair(record)
    training.report_lost_extra(record, losses)
    images = [build_image_cell(image) for image in record.images]
    sides = _build_sides(record, losses)
    return {**training.build_source_id(record), "images": images, **sides, **list_scores(record)}


def _build_sides(record: Record, losses: list[Loss]) -> dict[str, Any]:
    """Build the columns of a pair; DPOTrainer reads no margin and no score."""
    for name in list_scores(record):
        losses.append(Loss(record.id, name, "the column is written, but DPOTrainer does not read it"))
    pair = record.preference
    sides = (record.messages, pair.chosen, pair.rejected) if pair is not None else ()
    return {
        name: [_build_turn(turn, {}) for turn in turns] for name, turns in zip(("prompt", *SIDES), sides, strict=True)
    }


def _build_cells(target: Target, losses: list[Loss], record: Record) -> dict[str, Any]:
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
    # Processors whose token it is would read a literal <image> as an image.
    parts = [{"type": part.type, "text": escape(part.text)} for part in turn.content]
    kept = {name: value for name, value in more.items() if name not in ("role", "content")}
    return {"role": turn.role, "content": parts, **kept}


FORMAT = Format(
    summary="TRL vision data: images with messages, prompt and completion, or preference pairs",
    suffixes=(".parquet", ".jsonl", ".json"),
    rows=read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    splittable=True,
    cuttable=True,
    columns=(SPLIT,),
    pairs=True,
    videos=True,
    images={".parquet": ("inline",), ".jsonl": ("files", "original"), ".json": ("files", "original")},
    unhashed=(".parquet",),
)
