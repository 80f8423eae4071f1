r"""Preference pairs about images as RLAIF-V, RLHF-V and MMPR have them: `question`, `chosen`, `rejected`, `image`.

All texts. `image` is a cell of parquet, a path, or a list of them; without `<image>` in the question the images stand
in front of it, as these sets' trainers put them. In RLHF-V `question`, `chosen` and `rejected` stand as JSON in `text`.
Source: the cards of openbmb/RLAIF-V-Dataset, openbmb/RLHF-V-Dataset and OpenGVLab/MMPR; OpenGVLab/InternVL@2410d1d
internvl/train/internvl_chat_mpo.py.

Kept: `idx` as `sample`, `ds_name`, `origin_dataset` and other fields in `extra`.
Refused: sides that are no texts (`messages.content`), a `text` that is no JSON, more or fewer `<image>` than images
(`placeholder.count`), videos, sounds (`media.unsupported`).
Lost: nothing.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from mmconvert.chat import conversations, training
from mmconvert.chat.export_images import write_image_path
from mmconvert.chat.preference import SIDES, build_pair_record, holds_sides, report_lost_scores, select_rows
from mmconvert.core.errors import RowError, in_field, show
from mmconvert.core.record import IMAGE_TYPE, SCORES, Part, Record, Turn, attach_features
from mmconvert.core.rows import Row
from mmconvert.core.text.image_markers import Markers, join_with_markers, split_at_markers
from mmconvert.core.text.json import parse_json
from mmconvert.dataset.views import require_pair, split_pair
from mmconvert.dataset.write_parquet import build_image_cell, write_parquet
from mmconvert.io.row_files import read_rows
from mmconvert.io.write_delimited import write_rows
from mmconvert.plugins.format import Context, Format, Loss, Sample, Target

_MARKERS = Markers(("image", "video", "audio"), line_break=True)
_TEXTS = ("question", *SIDES)
_IMAGES = ("image", "images")
_SCHEMA = attach_features(
    pa.schema([("id", pa.string()), ("image", IMAGE_TYPE), *((name, pa.string()) for name in _TEXTS)])
)
"""Columns of a parquet file that is written."""


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    conversations.refuse_media(fields)
    if fields.get("question") is None and isinstance(text := fields.get("text"), str):
        with in_field("text"):
            inner = parse_json(text)
        if not isinstance(inner, dict):
            raise RowError("messages.type", "text", f"expected an object as JSON {show(text)}.")
        fields = {**{name: value for name, value in fields.items() if name != "text"}, **inner}
    if fields.get("id") is None and fields.get("idx") is not None:
        fields["id"] = fields.pop("idx")
    question, chosen, rejected = (_take_text(fields, name) for name in _TEXTS)
    name = next((name for name in _IMAGES if conversations.as_list(fields.get(name))), _IMAGES[0])
    value = fields.pop(name, None)
    with in_field("question"):
        parts = split_at_markers(question, _MARKERS)
    if not any(part.type == "image" for part in parts):
        parts = (*[Part("image") for _ in conversations.as_list(value)], *parts)
    prompt = (Turn("user", parts),)
    images = conversations.load_shown_images(value, name, prompt, context)
    sides = [(Turn("assistant", (Part("text", text),)),) for text in (chosen, rejected)]
    yield build_pair_record(row, context, fields, (prompt, sides[0], sides[1]), images)


def _take_text(fields: dict[str, Any], name: str) -> str:
    value = fields.pop(name, None)
    if not isinstance(value, str):
        raise RowError("messages.content", name, f"expected a text {show(value)}.")
    return value


def _find_mismatch(sample: Sample) -> str | None:
    if clash := sample.find_clash(("messages", "conversations", "instruction", "prompt", "image_info"), "field"):
        return clash
    if "text" in sample.columns and not {*SIDES} & {*sample.columns}:
        texts = [row.get("text") for row in sample.rows]
        return None if texts and all(map(_holds_pair, texts)) else "the column 'text' holds no pair as JSON"
    if missing := sample.find_missing(_TEXTS):
        return missing
    return None if holds_sides(sample, str) else "chosen and rejected are not always texts"


def _holds_pair(text: Any) -> bool:
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        return False
    try:
        inner = parse_json(text)
    except RowError:
        return False
    return isinstance(inner, dict) and {*_TEXTS} <= inner.keys()


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    losses: list[Loss] = []
    rows = training.build_training_rows(
        select_rows(records, losses, paired=True),
        losses,
        lambda record: {},
        pair=lambda record: _build_fields(record, target, losses),
    )
    if target.path.suffix.lower() == ".parquet":
        write_parquet(rows, _SCHEMA, target.path)
    else:
        write_rows(lambda: rows, target)
    yield from dict.fromkeys(losses)


def _build_fields(record: Record, target: Target, losses: list[Loss]) -> dict[str, Any]:
    record = training.drop_system_turns(split_pair(record), losses)
    report_lost_scores(record, losses)
    pair = require_pair(record)
    if len(record.messages) != 1:
        message = f"the form holds one question, and the prompt has {len(record.messages)} turns."
        raise RowError("target.order", "messages", message)
    texts = {"chosen": pair.chosen[0], "rejected": pair.rejected[0]}
    if any(part.type == "image" for turn in texts.values() for part in turn.content):
        raise RowError("target.images", "preference", "the form shows images in the question alone.")
    for more in training.read_messages_extra(record):
        losses += [Loss(record.id, name, "the format has no fields of single messages", remark=True) for name in more]
    said = {
        "question": join_with_markers(record.messages[0].content, _MARKERS),
        **{name: "".join(part.text for part in turn.content) for name, turn in texts.items()},
    }
    if target.path.suffix.lower() == ".parquet":
        if len(record.images) > 1:
            raise RowError("target.images", "images", "a row of parquet holds one image. Write .jsonl for several.")
        training.report_lost_extra(record, losses)
        image = build_image_cell(record.images[0]) if record.images else None
        return {"id": training.build_source_id(record).get("id"), "image": image, **said}
    paths = [write_image_path(image, target) for image in record.images]
    shown = {"image": paths[0] if len(paths) == 1 else paths} if paths else {}
    fields: dict[str, Any] = {**training.build_source_id(record), **shown, **said}
    return training.add_extra_fields(fields, record, losses, (*fields, *_IMAGES, "text", "idx", *SCORES))


FORMAT = Format(
    summary="Preference pairs as question, chosen, rejected and image (RLAIF-V, RLHF-V, MMPR)",
    suffixes=(".parquet", ".jsonl", ".json"),
    rows=read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    cuttable=True,
    pairs=True,
    images={".parquet": ("inline",), ".jsonl": ("files", "original"), ".json": ("files", "original")},
    unhashed=(".parquet",),
)
