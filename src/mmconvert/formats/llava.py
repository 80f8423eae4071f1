r"""LLaVA and ShareGPT4V training data: one JSON array, or parquet, with `id`, `image` and `conversations`.

A row shows at most one image: `image` is its path from the trainer's image folder, `<image>` stands for
it in a turn, with a line break behind it. Turns are `{"from": "human" | "gpt", "value": text}`, the human
first, then by turns. Source: haotian-liu/LLaVA@c121f04 docs/Finetune_Custom_Data.md, llava/train/train.py;
ShareGPT4Omni/ShareGPT4V@b6f70e9 docs/Data.md.

Kept: `id` as `sample`, other fields in `extra`, those of a message in `extra.messages_extra`.
Refused: more or fewer `<image>` than images (`placeholder.count`), a list of images, tool calls, videos.
Lost: nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mmconvert.chat import conversations, training
from mmconvert.chat.export_images import write_image_path
from mmconvert.chat.plain_elements import read_plain_elements
from mmconvert.core.errors import RowError, UsageError, show
from mmconvert.core.plain_chats import PlainLine
from mmconvert.core.record import Record
from mmconvert.core.rows import Row
from mmconvert.core.text.image_markers import Markers
from mmconvert.io.row_files import read_rows
from mmconvert.io.write_delimited import write_json_array
from mmconvert.plugins.format import Context, Format, Loss, PlainReader, Sample, Target

MARKERS = Markers(line_break=True)
KEYS = ("from", "value")
NAMES = {"user": "human", "assistant": "gpt"}


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    conversations.refuse_media(fields)
    image = fields.pop("image", None)
    if isinstance(image, list):
        raise RowError("image.type", "image", f"LLaVA shows one image per row {show(image)}. Try --format qwen_vl.")
    turns, extras = conversations.read_marked_turns(fields.pop("conversations", None), "conversations", KEYS, MARKERS)
    images = conversations.load_shown_images(image, "image", turns, context)
    yield conversations.build_conversation_record(row, context, fields, turns, images, extras)


def _read_plain_elements(raw: bytes) -> Sequence[PlainLine] | None:
    return read_plain_elements(raw, MARKERS)


def _find_mismatch(sample: Sample) -> str | None:
    if "conversations" not in sample.columns:
        return "no field 'conversations'"
    if any(row.get("video") for row in sample.rows):
        return "a row has a video"
    if any(isinstance(row.get("image"), list) for row in sample.rows):
        return "image is a list"
    if not any(row.get("image") for row in sample.rows):
        return "no row has an image"
    talks = [conversations.list_objects(row.get("conversations")) for row in sample.rows]
    if not all("value" in turn for turns in talks for turn in turns):
        return "turns have no 'value'"
    texts = ["".join(str(turn.get("value")) for turn in turns) for turns in talks]
    return "a row has several <image>" if any(text.count("<image>") > 1 for text in texts) else None


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    if target.path.suffix.lower() != ".json":
        raise UsageError(f"{target.path.name}: LLaVA's trainers read one JSON array. Name the file *.json.")
    losses: list[Loss] = []
    rows = training.build_training_rows(
        records, losses, lambda record: _build_fields(record, target, losses), first_row=target.first_row
    )
    write_json_array(rows, target.path)
    yield from dict.fromkeys(losses)


def _build_fields(record: Record, target: Target, losses: list[Loss]) -> dict[str, Any]:
    if len(record.images) > 1:
        raise RowError("target.images", "images", f"LLaVA shows one image per row, this one has {len(record.images)}.")
    record = training.drop_system_turns(record, losses)
    training.require_alternation(record.messages)
    fields: dict[str, Any] = {**training.build_source_id(record)}
    if record.images:
        fields["image"] = write_image_path(record.images[0], target)
    fields["conversations"] = training.build_message_rows(record, KEYS, NAMES, MARKERS)
    return training.add_extra_fields(fields, record, losses, ("image",))


FORMAT = Format(
    summary="LLaVA and ShareGPT4V training data",
    suffixes=(".json", ".parquet"),
    rows=read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    images=("files", "original"),
    cuttable=True,
    splittable=True,
    plain=PlainReader(None, read_rows, _read_records, training=True, elements=_read_plain_elements),
)
