"""LLaMA-Factory's ShareGPT form: `messages` or `conversations` and `images`, with its dataset_info.json.

`<image>` stands for the next of the row's `images` (paths from the file's folder, or images in parquet), `<video>`
for the next of its `videos`; a row's turns must alternate after an optional system turn. Writing adds or replaces the
file's entry in the dataset_info.json beside it. Rows of a ranking have one turn each in `chosen` and `rejected`, and
turns that end with the user. Source: hiyouga/LLaMA-Factory@ff6d4d1 data/README.md,
src/llamafactory/data/{parser,converter,mm_plugin}.py.

Kept: `id` as `sample`, other fields in `extra`, those of a message in `extra.messages_extra`.
Refused: more or fewer `<image>` than images (`placeholder.count`), tool calls, sounds, videos without `--frames`
(`media.unsupported`).
Lost: the dataset_info.json beside the file, which is not read.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from mmconvert.chat import conversations, training
from mmconvert.chat.dataset_info import add_to_dataset_info
from mmconvert.chat.export_images import write_image_path
from mmconvert.chat.preference import (
    SIDES,
    build_pair_record,
    holds_pairs,
    holds_sides,
    report_lost_scores,
    select_rows,
)
from mmconvert.chat.videos import take_videos
from mmconvert.core.errors import RowError, UsageError
from mmconvert.core.record import Record, Turn
from mmconvert.core.rows import Row
from mmconvert.core.text.image_markers import Markers, join_with_markers
from mmconvert.dataset.views import split_pair
from mmconvert.io.row_files import read_rows
from mmconvert.io.write_delimited import write_rows
from mmconvert.plugins.format import Context, Format, Loss, Sample, Target

MARKERS = Markers(("image", "video", "audio"))
FORMS = {"messages": ("role", "content"), "conversations": ("from", "value")}
"""Field of the turns -> keys of role and text in each."""

OF_MS_SWIFT = ("rejected_response", "rejected_messages", "rejected_images")
"""Fields of ms-swift's preference pairs, whose messages end with the chosen response."""

NAMES = {
    "messages": {"system": "system", "user": "user", "assistant": "assistant"},
    "conversations": {"system": "system", "user": "human", "assistant": "gpt"},
}


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    videos = take_videos(fields, context)
    sampled = context.images.sampling is not None
    form = "messages" if "messages" in fields else "conversations"
    turns, extras = conversations.read_marked_turns(fields.pop(form, None), form, FORMS[form], MARKERS, videos=sampled)
    turns, extras = conversations.take_system_turn(fields, turns, extras)
    sides = [_take_side(fields, name, form) for name in SIDES if isinstance(fields.get(name), dict | str)]
    if len(sides) == 1:
        raise RowError("preference.missing", "rejected", "one of the two sides has no turn. Give both, or neither.")
    every = [*turns, *(turn for side in sides for turn in side)]
    value = fields.pop("images", None)
    if not sides and turns and not conversations.count_image_parts(turns):
        every = [*conversations.show_unmarked_images(tuple(turns), len(conversations.as_list(value)), context)]
    shown, images = conversations.load_shown_media(value, "images", videos, every, context)
    if sides:
        prompt, (chosen, rejected) = shown[: len(turns)], shown[len(turns) :]
        yield build_pair_record(row, context, fields, (prompt, [chosen], [rejected]), images, extras)
    else:
        yield conversations.build_conversation_record(row, context, fields, shown, images, extras)


def _take_side(fields: dict[str, Any], name: str, form: str) -> tuple[Turn, ...]:
    """Take the one turn of a side out of a row; fields beside role and text stay under the side's name."""
    side = fields.pop(name)
    if isinstance(side, str):
        side = dict(zip(FORMS[form], (NAMES[form]["assistant"], side), strict=True))
    turns, (extra,) = conversations.read_marked_turns([side], name, FORMS[form], MARKERS)
    if extra:
        fields[f"{name}_extra"] = extra
    return turns


def _find_mismatch(sample: Sample) -> str | None:
    form = next((name for name in FORMS if name in sample.columns), None)
    if form is None:
        return "no field 'messages' or 'conversations'"
    if clash := sample.find_clash(OF_MS_SWIFT, "field"):
        return clash
    if "image" in sample.columns:
        return "it has a field 'image', not 'images'"
    if "video" in sample.columns and "images" not in sample.columns and sample.suffix != ".parquet":
        return "it has a field 'video', not 'videos'"
    role_key, text_key = FORMS[form]
    turns = [turn for row in sample.rows for turn in conversations.list_objects(row.get(form))]
    if not all(isinstance(turn.get(text_key), str) for turn in turns):
        return f"{text_key} is not always a text"
    if form == "conversations":
        return "turns are from 'user', not 'human'" if any(turn.get(role_key) == "user" for turn in turns) else None
    if holds_sides(sample, dict):
        return None
    marked = "images" in sample.columns and any("<image>" in turn[text_key] for turn in turns)
    fits = sample.suffix == ".json" or (sample.suffix == ".parquet" and marked)
    return None if fits else "messages are in JSON Lines or parquet without <image>"


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    if target.path.suffix.lower() == ".parquet":
        raise UsageError("the format is written to .json or .jsonl; parquet is only read.")
    form = target.columns or "messages"
    losses: list[Loss] = []
    paired = holds_pairs(records)
    rows = training.build_training_rows(
        select_rows(records, losses, paired=paired),
        losses,
        lambda record: _build_fields(record, form, target, losses),
        pair=lambda record: _build_pair_fields(record, form, target, losses),
    )
    write_rows(lambda: rows, target)
    add_to_dataset_info(target, _build_info(form, paired=paired))
    yield from dict.fromkeys(losses)


def _build_fields(record: Record, form: str, target: Target, losses: list[Loss]) -> dict[str, Any]:
    has_system = record.messages[0].role == "system"
    training.require_alternation(record.messages[1:] if has_system else record.messages)
    fields: dict[str, Any] = {
        **training.build_source_id(record),
        form: training.build_message_rows(record, FORMS[form], NAMES[form], MARKERS),
        "images": [write_image_path(image, target) for image in record.images],
    }
    return training.add_extra_fields(fields, record, losses, (*FORMS, "images", "system"))


def _build_pair_fields(record: Record, form: str, target: Target, losses: list[Loss]) -> dict[str, Any]:
    record = split_pair(record)
    report_lost_scores(record, losses)
    pair = record.preference
    sides = (pair.chosen, pair.rejected) if pair is not None else ()
    for turns in sides:
        training.require_alternation([turn for turn in (*record.messages, *turns) if turn.role != "system"])
    role_key, text_key = FORMS[form]
    responses = {
        name: {role_key: NAMES[form]["assistant"], text_key: join_with_markers(turns[0].content, MARKERS)}
        for name, turns in zip(SIDES, sides, strict=True)
    }
    for name, response in responses.items():
        more = record.extra.get(f"{name}_extra")
        response |= {key: value for key, value in more.items() if key not in response} if isinstance(more, dict) else {}
    kept = {name: value for name, value in record.extra.items() if name not in [f"{side}_extra" for side in SIDES]}
    fields: dict[str, Any] = {
        **training.build_source_id(record),
        form: training.build_message_rows(record, FORMS[form], NAMES[form], MARKERS),
        **responses,
        "images": [write_image_path(image, target) for image in record.images],
    }
    return training.add_extra_fields(fields, replace(record, extra=kept), losses, (*FORMS, *SIDES, "images", "system"))


def _build_info(form: str, *, paired: bool) -> dict[str, Any]:
    """Say in LLaMA-Factory's list of data sets how the file is to be read."""
    role_key, text_key = FORMS[form]
    names = NAMES[form]
    return {
        "formatting": "sharegpt",
        **({"ranking": True} if paired else {}),
        "columns": {"messages": form, **({name: name for name in SIDES} if paired else {}), "images": "images"},
        "tags": {
            "role_tag": role_key,
            "content_tag": text_key,
            "user_tag": names["user"],
            "assistant_tag": names["assistant"],
            "system_tag": names["system"],
        },
    }


FORMAT = Format(
    summary="LLaMA-Factory ShareGPT data with its dataset_info.json",
    suffixes=(".json", ".jsonl", ".parquet"),
    rows=read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    cuttable=True,
    columns=tuple(FORMS),
    pairs=True,
    images=("files", "original"),
    videos=True,
)
