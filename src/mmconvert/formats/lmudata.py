"""LMUData TSV, VLMEvalKit's table: `index`, `question`, `image` or `image_path`, options A, B, ...

What the columns mean stands in `mmconvert.kits.vlmevalkit.lmu_table`; here is what the benchmarks' names add.

Kept: columns without a place, and headers in the file's own spelling, in `extra`.
Refused: rows without index, question or picture, references in a circle (`image.reference`), the letter of no
option.
Lost: nothing.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from mmconvert.exported_images import as_files, base64_text, stored_file, with_bytes
from mmconvert.file_names import said
from mmconvert.format import IMAGES, Context, Format, Loss, Sample, Target
from mmconvert.kits.vlmevalkit import lmu_table
from mmconvert.kits.vlmevalkit.datasets import TASKS
from mmconvert.kits.vlmevalkit.lmu_dialogs import rounds
from mmconvert.kits.vlmevalkit.lmu_rotations import index_cell, said_by_index
from mmconvert.kits.vlmevalkit.lmu_table import Reading
from mmconvert.losses import unheld
from mmconvert.placeholders import slots_in
from mmconvert.record import LETTERS, Image, Record, canonical_json
from mmconvert.sources import Rejected, Row, Span
from mmconvert.sources.jsonl import parse_json
from mmconvert.table_writer import TableWriter
from mmconvert.tables import respell, take_headers

_GROUP = "g_index"
_HELD = ("hint", "options", "category", "l2_category", "split", "prediction", "attachments")

CAPTION_PROMPT = (
    "Please describe this image in general. Directly provide the description, "
    'do not include prefix like "This image depicts". '
)
"""Prompt of COCO_VAL, whose table has no question. Source: VLMEvalKit@e8e78f0 vlmeval/dataset/image_caption.py."""


def _rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    return lmu_table.rows(path, span, [("index",), ("image", "image_path")])


def _records(row: Row, context: Context) -> Iterable[Record]:
    yield from rounds(lmu_table.record(row, context, _how(row.where.stem, context.dataset, context.task)))


@lru_cache
def _how(stem: str, dataset: str | None, task: str | None) -> Reading:
    dataset = dataset or (stem if stem in TASKS else None)
    return Reading(dataset, task or TASKS.get(dataset or ""), CAPTION_PROMPT)


def _mismatch(sample: Sample) -> str | None:
    found = respell(dict.fromkeys(sample.columns), lmu_table.WORDS)[0]
    if "index" not in found:
        return "no column 'index'"
    if "image" not in found and "image_path" not in found:
        return "no column 'image' or 'image_path'"
    if "image" not in found and "prediction" in found:
        return "a result table, which has predictions and no pictures"
    return None


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    losses: list[Loss] = []
    first = ("index", "question", "hint", *LETTERS, "answer", "category", "l2-category", "split", "prediction")
    with TableWriter(target, first) as table:
        table.write_all(lambda: (_fields(record, target, losses) for record in with_bytes(records, losses, _pictures)))
    yield from dict.fromkeys(losses)


def _fields(record: Record, target: Target, losses: list[Loss]) -> dict[str, Any]:
    extra = dict(record.extra)
    headers = take_headers(extra)
    images = _pictures(record)
    if len(record.messages) > 1:
        losses.append(Loss(record.id, "messages", "only the last user turn has a place"))
    if record.attachments and not slots_in(record.question or ""):
        losses.append(Loss(record.id, "attachments", "the row would show them"))
    said = ("group",) if str(extra.get(_GROUP)) == record.group else said_by_index(record)
    losses += unheld(record, (*_HELD, *said), target)
    fields: dict[str, Any] = {
        "index": index_cell(record),
        "question": record.question,
        "hint": record.hint,
        **dict(zip(LETTERS, record.options, strict=False)),
        "answer": None if record.label is None else parse_json(record.label),
        "category": record.category,
        "l2-category": record.l2_category,
        "split": record.split,
        "prediction": record.prediction,
    }
    names = [image.name for image in images if image.name is not None]
    if as_files(images, target):
        names = [stored_file(image, target) for image in images]
    else:
        fields["image"] = _one_or_list([base64_text(image) for image in images])
    fields["image_path"] = _one_or_list(names)
    if isinstance(fields["answer"], list | dict | int | float):
        fields["answer"] = canonical_json(fields["answer"])
    return {headers.get(name, name): value for name, value in {**fields, **extra}.items()}


def _pictures(record: Record) -> list[Image]:
    """List the pictures that a row holds, by slot; attachments only where the question says what it shows."""
    hidden = record.attachments if slots_in(record.question or "") else ()
    return sorted({image.slot: image for image in (*record.images, *hidden)}.values(), key=lambda image: image.slot)


def _one_or_list(values: list[str]) -> str | list[str] | None:
    return values[0] if len(values) == 1 else values or None


FORMAT = Format(
    summary="LMUData TSV with base64 pictures (VLMEvalKit)",
    suffixes=(".tsv", ".csv"),
    rows=_rows,
    records=_records,
    mismatch=_mismatch,
    write=_write,
    file_name=lambda record: f"{said(record.dataset, 'dataset')}.tsv",
    cuttable=True,
    images=IMAGES,
)
