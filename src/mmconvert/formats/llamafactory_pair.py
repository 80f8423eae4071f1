r"""LLaMA-Factory's preference pairs of version 1: JSON with `chosen_messages` and `rejected_messages`.

Both are whole conversations, each message a list of `{"type", "value"}`; `image_url` stands for an image of its own,
`<image>` in a text for the next of the row's `images`, which both sides see. What both begin with is the prompt. Images
are written as files, a part for each in both conversations.
Source: hiyouga/LLaMA-Factory@ff6d4d1 src/llamafactory/v1/plugins/data_plugins/converter.py, data/v1_dpo_demo.jsonl.

Kept: other fields in `extra`, those of a message (`loss_weight`) in `extra.messages_extra`, `chosen_extra` and
`rejected_extra`.
Refused: sides that begin with other turns (`preference.prompt`), tool calls, videos, sounds (`media.unsupported`),
more or fewer `<image>` than images (`placeholder.count`).
Lost: nothing.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from mmconvert.chat import conversations, training
from mmconvert.chat.openai import build_valued_messages
from mmconvert.chat.preference import SIDES, build_pair_record, count_shared, report_lost_scores, select_rows
from mmconvert.core.errors import RowError, in_field, quote_value, show
from mmconvert.core.record import SCORES, Image, Part, Record, Turn
from mmconvert.core.rows import Row
from mmconvert.core.text.image_markers import Markers, check_count, split_at_markers
from mmconvert.dataset.views import require_pair, split_pair
from mmconvert.io.row_files import read_rows
from mmconvert.io.write_delimited import write_rows
from mmconvert.plugins.format import Context, Format, Loss, Sample, Target

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


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    losses: list[Loss] = []
    rows = training.build_training_rows(
        select_rows(records, losses, paired=True),
        losses,
        lambda record: {},
        addresses=True,
        pair=lambda record: _build_fields(record, target, losses),
    )
    write_rows(lambda: rows, target)
    yield from dict.fromkeys(losses)


def _build_fields(record: Record, target: Target, losses: list[Loss]) -> dict[str, Any]:
    extras = {side: _list_extras(record, side) for side in SIDES}
    # Turns that both sides begin with go to the prompt, and what else they hold with them.
    shared = (*training.read_messages_extra(record), *extras[SIDES[0]][:-1])
    record = split_pair(record)
    report_lost_scores(record, losses)
    pair = require_pair(record)
    kept = {name: value for name, value in record.extra.items() if name not in [f"{side}_extra" for side in SIDES]}
    fields: dict[str, Any] = {**training.build_source_id(record)}
    for name, side, turns in zip(_FIELDS, SIDES, (pair.chosen, pair.rejected), strict=True):
        more, images = (*shared, extras[side][-1]), iter(record.images)
        fields[name] = build_valued_messages((*record.messages, *turns), more, images, target, _MARKERS.words)
    taken = (*_FIELDS, *conversations.MEDIA, *SCORES, "images")
    return training.add_extra_fields(fields, replace(record, extra=kept), losses, taken)


def _list_extras(record: Record, side: str) -> list[dict[str, Any]]:
    """Give the further fields of each message of a side, {} for one without; at least of one."""
    held = record.extra.get(f"{side}_extra")
    known = [more if isinstance(more, dict) else {} for more in held] if isinstance(held, list) else []
    count = max(1, len(getattr(record.preference, side)))
    return [*known, *({} for _ in range(count))][:count]


FORMAT = Format(
    summary="LLaMA-Factory's preference pairs of version 1: chosen_messages and rejected_messages",
    suffixes=(".jsonl", ".json"),
    rows=read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    cuttable=True,
    pairs=True,
    images=("files", "original"),
)
