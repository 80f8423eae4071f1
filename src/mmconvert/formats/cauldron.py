"""The Cauldron's parquet: `images`, and `texts` with `user`, `assistant` and `source` each.

All images stand in front of the first question. Source: the dataset card of HuggingFaceM4/the_cauldron;
huggingface/nanoVLM@4e0c096 data/datasets.py.

Kept: each question's `source` and other columns in `extra`.
Refused: texts that are no pairs of `user` and `assistant` (`messages.content`), images that cannot be read.
Lost: nothing.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from mmconvert.chat import conversations
from mmconvert.chat.losses import NO_FIELD
from mmconvert.chat.training import build_pairs, build_source_id, build_training_rows, read_turns, report_lost_extra
from mmconvert.core.record import IMAGE_TYPE, Record, attach_features
from mmconvert.core.rows import Row
from mmconvert.dataset.write_parquet import build_image_cell, write_parquet
from mmconvert.io import parquet
from mmconvert.plugins.format import Context, Format, Loss, Sample, Target

_TEXT = pa.struct([("user", pa.string()), ("assistant", pa.string()), ("source", pa.string())])
SCHEMA: pa.Schema = attach_features(pa.schema([("images", pa.list_(IMAGE_TYPE)), ("texts", pa.list_(_TEXT))]))


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    value = fields.pop("images", None)
    turns, extras = read_turns(fields.pop("texts", None), len(conversations.as_list(value)))
    images = conversations.load_shown_images(value, "images", turns, context)
    yield conversations.build_conversation_record(row, context, fields, turns, images, extras)


def _find_mismatch(sample: Sample) -> str | None:
    if missing := sample.find_missing(SCHEMA.names):
        return missing
    texts = [text for row in sample.rows for text in conversations.list_objects(row.get("texts"))]
    return None if any("source" in text for text in texts) else "no text has a 'source'"


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    losses: list[Loss] = []
    rows = build_training_rows(records, losses, lambda record: _build_fields(record, losses), held=("dataset",))
    write_parquet(rows, SCHEMA, target.path)
    yield from dict.fromkeys(losses)


def _build_fields(record: Record, losses: list[Loss]) -> dict[str, Any]:
    texts = build_pairs(record, losses, kept=("source",))
    for text in texts:
        # Card and loaders name the data set of each question here.
        text["source"] = text["source"] if isinstance(text["source"], str) else record.dataset
    if build_source_id(record):
        losses.append(Loss(record.id, "id", NO_FIELD, remark=True))
    report_lost_extra(record, losses, kept=(conversations.MESSAGES_EXTRA,))
    return {"images": [build_image_cell(image) for image in record.images], "texts": texts}


FORMAT = Format(
    summary="The Cauldron: images, and questions with answers",
    suffixes=(".parquet",),
    rows=parquet.rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    cuttable=True,
    images=("inline",),
    unhashed=(".parquet",),
)
