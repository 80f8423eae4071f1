"""ms-swift training data: JSON Lines with `messages` and `images`.

Content is one text; `<image>` stands for the next of the row's `images` (path, data URL or address), `<video>` for the
next of its `videos`. A row whose texts have no `<image>` at all shows its pictures in front of the first message, as
ms-swift itself does, and so it is with videos. Fields such as `objects`, `loss` and `rejected_response` are kept.
Source: modelscope/ms-swift@3602360 docs/source_en/Customization/Custom-dataset.md, swift/dataset/preprocessor/core.py.

Kept: `objects`, `rejected_response` and other fields in `extra`, those of a message in `extra.messages_extra`.
Refused: more or fewer `<image>` than pictures (`placeholder.count`), tool calls, sounds, videos without `--frames`
(`media.unsupported`).
Lost: nothing.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from mmconvert.chat import conversations
from mmconvert.chat.export_images import store_image
from mmconvert.chat.training import add_extra_fields, build_message_rows, build_source_id, build_training_rows
from mmconvert.chat.videos import VIDEOS, take_videos
from mmconvert.core.record import Record
from mmconvert.core.rows import Row
from mmconvert.core.text.image_markers import IMAGE, VIDEO, Markers
from mmconvert.io import jsonl
from mmconvert.io.write_delimited import write_jsonl
from mmconvert.plugins.format import IMAGES, Context, Format, Loss, Sample, Target

MARKERS = Markers(("image", "video", "audio"))
KEYS = ("role", "content")
NAMES = {"system": "system", "user": "user", "assistant": "assistant"}
_IMAGES = ("images", "image")


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    videos = take_videos(fields, context)
    sampled = context.pictures.sampling is not None
    messages = fields.pop("messages", None)
    turns, extras = conversations.read_marked_turns(messages, "messages", KEYS, MARKERS, videos=sampled)
    turns, extras = conversations.take_system_turn(fields, turns, extras)
    name = next((name for name in _IMAGES if conversations.as_list(fields.get(name))), _IMAGES[0])
    value = fields.pop(name, None)
    if not conversations.count_image_parts(turns) and conversations.as_list(value):
        turns = conversations.put_in_front(turns, IMAGE, len(conversations.as_list(value)))
        context.warn("pictures without <image> in any text stand in front of the first message")
    if videos and not conversations.count_image_parts(turns, VIDEO):
        turns = conversations.put_in_front(turns, VIDEO, len(videos))
        context.warn("videos without <video> in any text stand in front of the first message")
    turns, images = conversations.load_shown_media(value, name, videos, turns, context)
    yield conversations.build_conversation_record(row, context, fields, turns, images, extras)


def _find_mismatch(sample: Sample) -> str | None:
    if "messages" not in sample.columns:
        return "no field 'messages'"
    if not any(name in sample.columns for name in (*_IMAGES, *VIDEOS)):
        return "no field 'images' or 'videos'"
    turns = [turn for row in sample.rows for turn in conversations.list_objects(row.get("messages"))]
    if not all(isinstance(turn.get("content"), str) for turn in turns):
        return "content is not always a text"
    if not any(f"<{word}>" in turn["content"] for turn in turns for word in (IMAGE, VIDEO)):
        return "no text has an <image> or <video>"
    return None


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    losses: list[Loss] = []
    rows = build_training_rows(records, losses, lambda record: _build_fields(record, target, losses), addresses=True)
    write_jsonl(rows, target.path)
    yield from dict.fromkeys(losses)


def _build_fields(record: Record, target: Target, losses: list[Loss]) -> dict[str, Any]:
    fields: dict[str, Any] = {**build_source_id(record), "messages": build_message_rows(record, KEYS, NAMES, MARKERS)}
    if record.images:
        fields["images"] = [store_image(image, target) for image in record.images]
    return add_extra_fields(fields, record, losses, (*_IMAGES, "system"))


FORMAT = Format(
    summary="ms-swift training data",
    suffixes=(".jsonl",),
    rows=jsonl.rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    cuttable=True,
    images=IMAGES,
    videos=True,
)
