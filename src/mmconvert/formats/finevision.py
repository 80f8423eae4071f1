"""FineVision's parquet: `images`, `texts` with `user` and `assistant`, `source`, and ratings of each text.

All images stand in front of the first question. Four ratings (1 to 5, or null) stand in lists beside
the texts, with the smallest of each. Source: the dataset card of HuggingFaceM4/FineVision (revision
dd30ac3); huggingface/nanoVLM@4e0c096 data/datasets.py.

Kept: `source` and the ratings in `extra`.
Refused: ratings of another number than texts (`ratings.count`), texts that are no pairs (`messages.content`).
Lost: nothing.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from mmconvert.chat.conversations import MESSAGES_EXTRA, as_list, build_conversation_record, load_shown_images
from mmconvert.chat.losses import NO_FIELD
from mmconvert.chat.training import build_pairs, build_source_id, build_training_rows, read_turns, report_lost_extra
from mmconvert.core.errors import RowError
from mmconvert.core.record import IMAGE_TYPE, Record, attach_features
from mmconvert.core.rows import Row
from mmconvert.dataset.write_parquet import build_image_cell, write_parquet
from mmconvert.io import parquet
from mmconvert.plugins.format import Context, Format, Loss, Sample, Target

KINDS = ("relevance", "visual_dependency", "image_correspondence", "formatting")
RATINGS = tuple(f"{kind}_ratings" for kind in KINDS)
SMALLEST = tuple(f"{kind}_min" for kind in KINDS)

_TEXT = pa.struct([("user", pa.string()), ("assistant", pa.string())])
_SHOWN = [("images", pa.list_(IMAGE_TYPE)), ("texts", pa.list_(_TEXT)), ("source", pa.string())]
_RATED = [*((name, pa.list_(pa.int64())) for name in RATINGS), *((name, pa.int64()) for name in SMALLEST)]
SCHEMA: pa.Schema = attach_features(pa.schema([*_SHOWN, *_RATED]))


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    value = fields.pop("images", None)
    turns, extras = read_turns(fields.pop("texts", None), len(as_list(value)))
    for name in RATINGS:
        count = len(as_list(fields.get(name)))
        if fields.get(name) is not None and count != len(turns) // 2:
            raise RowError("ratings.count", name, f"there are {count} ratings for {len(turns) // 2} texts.")
    images = load_shown_images(value, "images", turns, context)
    yield build_conversation_record(row, context, fields, turns, images, extras)


def _find_mismatch(sample: Sample) -> str | None:
    if missing := sample.find_missing(("images", "texts")):
        return missing
    told = any(name in sample.columns for name in ("source", *RATINGS))
    return None if told else "neither a column 'source' nor ratings"


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    losses: list[Loss] = []
    rows = build_training_rows(records, losses, lambda record: _build_fields(record, losses), held=("dataset",))
    write_parquet(rows, SCHEMA, target.path)
    yield from dict.fromkeys(losses)


def _build_fields(record: Record, losses: list[Loss]) -> dict[str, Any]:
    texts = build_pairs(record, losses)
    extra = record.extra
    kept: dict[str, Any] = {}
    if isinstance(extra.get("source"), str):
        kept["source"] = extra["source"]
    for name in RATINGS:
        ratings = extra.get(name)
        if isinstance(ratings, list) and len(ratings) == len(texts) and all(map(_is_rating, ratings)):
            kept[name] = ratings
    kept |= {name: extra[name] for name in SMALLEST if name in extra and _is_rating(extra[name])}
    if build_source_id(record):
        losses.append(Loss(record.id, "id", NO_FIELD, remark=True))
    report_lost_extra(record, losses, kept=(MESSAGES_EXTRA, *kept))
    images = [build_image_cell(image) for image in record.images]
    return {"images": images, "texts": texts, "source": record.dataset, **kept}


def _is_rating(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63)


FORMAT = Format(
    summary="FineVision: images, questions with answers, and ratings",
    suffixes=(".parquet",),
    rows=parquet.rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    cuttable=True,
    images=("inline",),
    unhashed=(".parquet",),
)
