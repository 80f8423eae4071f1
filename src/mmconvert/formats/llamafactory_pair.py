r"""LLaMA-Factory's preference pairs of version 1: JSON with `chosen_messages` and `rejected_messages`.

Both are whole conversations, each message a list of `{"type", "value"}`; `image_url` stands for an image of its own,
`<image>` in a text for the next of the row's `images`, which both sides see. What both begin with is the prompt.
Source: hiyouga/LLaMA-Factory@ff6d4d1 src/llamafactory/v1/plugins/data_plugins/converter.py, data/v1_dpo_demo.jsonl.

Kept: other fields in `extra`, those of a message (`loss_weight`) in `extra.messages_extra`, `chosen_extra` and
`rejected_extra`.
Refused: sides that begin with other turns (`preference.prompt`), tool calls, videos, sounds (`media.unsupported`),
more or fewer `<image>` than images (`placeholder.count`).
Lost: nothing.
"""

from collections.abc import Iterable
from typing import Any

from mmconvert.chat import conversations
from mmconvert.chat.preference import build_pair_record, count_shared
from mmconvert.core.errors import RowError, in_field, quote_value, show
from mmconvert.core.record import Image, Part, Record, Turn
from mmconvert.core.rows import Row
from mmconvert.core.text.image_markers import Markers, check_count, split_at_markers
from mmconvert.io.row_files import read_rows
from mmconvert.plugins.format import Context, Format, Sample

_FIELDS = ("chosen_messages", "rejected_messages")
_MARKERS = Markers(("image", "video", "audio"))
_OWN = ("role", "content")


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    conversations.refuse_media(fields)
    chosen, rejected = (conversations.read_messages(fields.pop(name, None), name) for name in _FIELDS)
    count = count_shared(chosen, rejected)
    values = conversations.list_elements(fields.pop("images", None), "images")
    rest = iter(values)
    images: list[Image] = []
    sides = []
    for name, messages in (("", chosen[:count]), ("chosen", chosen[count:]), ("rejected", rejected[count:])):
        start = count if name else 0
        where = f"{name or 'chosen'}_messages"
        turns = []
        for number, message in enumerate(messages, start):
            turn, own = _read_message(message, f"{where}[{number}]")
            turns.append(turn)
            for value in own:
                place, item = value or next(rest, ("images", None))
                if item is None:
                    check_count(len(values) + 1, len(values), "images")
                with in_field(place):
                    images.append(conversations.load_image(item, len(images) + 1, context))
        sides.append(turns)
        extras = [{key: value for key, value in message.items() if key not in _OWN} for message in messages]
        if name and any(extras):
            fields[f"{name}_extra"] = extras
    left = sum(1 for _ in rest)
    check_count(len(values) - left, len(values), "images")
    extras = [{key: value for key, value in message.items() if key not in _OWN} for message in chosen[:count]]
    yield build_pair_record(row, context, fields, (sides[0], sides[1], sides[2]), images, extras)


def _read_message(message: dict[str, Any], where: str) -> tuple[Turn, list[tuple[str, Any] | None]]:
    """Read a message: the turn, and for each of its images what it brings itself, None for one of the row's."""
    role, content = conversations.read_role(message.get("role"), f"{where}.role"), message.get("content")
    if not isinstance(content, list):
        raise RowError("messages.content", f"{where}.content", f"expected a list of parts {show(content)}.")
    parts: list[Part] = []
    images: list[tuple[str, Any] | None] = []
    for number, part in enumerate(content):
        field = f"{where}.content[{number}]"
        kind, value = (part.get("type"), part.get("value")) if isinstance(part, dict) else (None, None)
        if kind == "text" and isinstance(value, str):
            with in_field(f"{field}.value"):
                found = split_at_markers(value, _MARKERS)
            parts += found
            images += [None for one in found if one.type == "image"]
        elif kind == "image_url":
            parts.append(Part("image"))
            images.append((f"{field}.value", value))
        elif kind in ("video_url", "audio_url", "tool_call", "reasoning"):
            raise RowError(
                "media.unsupported", field, f"parts of type {quote_value(kind)} are not supported. Leave the row out."
            )
        else:
            raise RowError("messages.part", field, f"expected a text or image_url part with a value {show(part)}.")
    return Turn(role, tuple(parts)), images


def _find_mismatch(sample: Sample) -> str | None:
    return sample.find_missing(_FIELDS, "field")


FORMAT = Format(
    summary="LLaMA-Factory's preference pairs of version 1: chosen_messages and rejected_messages",
    suffixes=(".jsonl", ".json"),
    rows=read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    cuttable=True,
)
