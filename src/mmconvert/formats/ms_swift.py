"""ms-swift training data: JSON Lines with `messages` and `images`.

Content is one text; `<image>` stands for the next of the row's `images` (path, data URL or address).
A row whose texts have no `<image>` at all shows its pictures in front of the first message, as ms-swift
itself does. Fields such as `objects`, `loss` and `rejected_response` are kept. Source:
modelscope/ms-swift@3602360 docs/source_en/Customization/Custom-dataset.md, swift/dataset/preprocessor/core.py.

Kept: `objects`, `rejected_response` and other fields in `extra`, those of a message in `extra.messages_extra`.
Refused: more or fewer `<image>` than pictures (`placeholder.count`), tool calls, videos, sounds
(`media.unsupported`).
Lost: nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mmconvert.chat.conversations import (
    dialog_record,
    image_parts,
    listed,
    marked_turns,
    objects_in,
    refuse_media,
    shown_pictures,
    with_system,
)
from mmconvert.chat.export_images import reference
from mmconvert.chat.training import message_rows, source_id, training_rows, with_extra
from mmconvert.core.record import Part, Record, Turn
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.core.text.image_markers import Markers
from mmconvert.io import jsonl
from mmconvert.io.write_delimited import write_jsonl
from mmconvert.plugins.format import IMAGES, Context, Format, Loss, Sample, Target

MARKERS = Markers(("image", "video", "audio"))
KEYS = ("role", "content")
NAMES = {"system": "system", "user": "user", "assistant": "assistant"}
_PICTURES = ("images", "image")


def _rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    return jsonl.rows(path, span)


def _records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    refuse_media(fields)
    turns, extras = marked_turns(fields.pop("messages", None), "messages", KEYS, MARKERS)
    turns, extras = with_system(fields, turns, extras)
    name = next((name for name in _PICTURES if listed(fields.get(name))), _PICTURES[0])
    value = fields.pop(name, None)
    if not image_parts(turns) and listed(value):
        turns = _in_front(turns, len(listed(value)))
        context.warn("pictures without <image> in any text stand in front of the first message")
    yield dialog_record(row, context, fields, turns, shown_pictures(value, name, turns, context), extras)


def _in_front(turns: Sequence[Turn], count: int) -> tuple[Turn, ...]:
    first = next((number for number, turn in enumerate(turns) if turn.role != "system"), 0)
    parts = (*[Part("image")] * count, *turns[first].content)
    return (*turns[:first], replace(turns[first], content=parts), *turns[first + 1 :])


def _mismatch(sample: Sample) -> str | None:
    if "messages" not in sample.columns:
        return "no field 'messages'"
    if not any(name in sample.columns for name in _PICTURES):
        return "no field 'images'"
    turns = [turn for row in sample.rows for turn in objects_in(row.get("messages"))]
    if not all(isinstance(turn.get("content"), str) for turn in turns):
        return "content is not always a text"
    if not any("<image>" in turn["content"] for turn in turns):
        return "no text has an <image>"
    return None


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    losses: list[Loss] = []
    rows = training_rows(records, losses, lambda record: _fields(record, target, losses), addresses=True)
    write_jsonl(rows, target.path)
    yield from dict.fromkeys(losses)


def _fields(record: Record, target: Target, losses: list[Loss]) -> dict[str, Any]:
    fields: dict[str, Any] = {**source_id(record), "messages": message_rows(record, KEYS, NAMES, MARKERS)}
    if record.images:
        fields["images"] = [reference(image, target) for image in record.images]
    return with_extra(fields, record, losses, (*_PICTURES, "system"))


FORMAT = Format(
    summary="ms-swift training data",
    suffixes=(".jsonl",),
    rows=_rows,
    records=_records,
    mismatch=_mismatch,
    write=_write,
    cuttable=True,
    images=IMAGES,
)
