"""LMUData TSV, VLMEvalKit's table: `index`, `question`, `image` or `image_path`, options A, B, ...

A row about a video has its path in `video_path`, else in `video`, where VLMEvalKit leaves `.mp4` out, and may have its
options as a list in `candidates`; frames stand in front of the question. What the columns mean stands in
`mmconvert.kits.vlmevalkit.lmu_table`; here is what the benchmarks' names add.

Kept: columns without a place, and headers in the file's own spelling, in `extra`.
Refused: rows without index, question or image, references in a circle (`image.reference`), the letter of no
option, videos without `--frames` (`media.unsupported`).
Lost: rows without image or question, with the letter of no option, or whose placeholders are not what the prompt
shows; hidden images where no placeholder says what is shown; the numbers of images with gaps; empty texts; further
fields under a name of the format's own.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from mmconvert.chat.export_images import as_files, drop_records_without_bytes, encode_base64, write_image_file
from mmconvert.chat.file_names import require_text
from mmconvert.chat.losses import list_losses
from mmconvert.core.record import LETTERS, Image, Record, encode_json
from mmconvert.core.rows import Row
from mmconvert.core.text.options import build_plain_prompt, is_option, require_several
from mmconvert.core.text.placeholders import PLACEHOLDER, list_slots
from mmconvert.core.text.turns import are_placeholders, shows_what_is_named
from mmconvert.io.columns import add_extra, read_letter_or_label, respell, take_headers
from mmconvert.io.write_delimited import TableWriter
from mmconvert.kits.vlmevalkit import lmu_table
from mmconvert.kits.vlmevalkit.datasets import NAMES, TASKS
from mmconvert.kits.vlmevalkit.lmu_table import TableSettings, build_index_cell, list_index_columns, split_rounds
from mmconvert.kits.vlmevalkit.videos import VIDEOS
from mmconvert.plugins.format import IMAGES, Context, Format, Framework, Loss, Sample, Target

_GROUP = "g_index"
_TAKEN = {*lmu_table.WORDS, *LETTERS, "prediction"} - {_GROUP}
_COLUMN = {"l2-category": "l2_category", **dict.fromkeys(LETTERS, "options")}
_HELD = ("hint", "options", "category", "l2_category", "split", "prediction", "attachments")

CAPTION_PROMPT = (
    "Please describe this image in general. Directly provide the description, "
    'do not include prefix like "This image depicts". '
)
"""Prompt of COCO_VAL, whose table has no question. Source: VLMEvalKit@e8e78f0 vlmeval/dataset/image_caption.py."""


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    how = _build_table_settings(row.where.stem, context.dataset, context.task)
    record = lmu_table.build_record(row, context, how)
    if not context.for_scoring:
        require_several(record.options, "A")
    yield from split_rounds(record)


@lru_cache
def _build_table_settings(stem: str, dataset: str | None, task: str | None) -> TableSettings:
    dataset = dataset or (stem if stem in NAMES else None)
    return TableSettings(dataset, task or TASKS.get(dataset or ""), CAPTION_PROMPT)


def _find_mismatch(sample: Sample) -> str | None:
    found = respell(dict.fromkeys(sample.columns), lmu_table.WORDS)[0]
    if "index" not in found:
        return "no column 'index'"
    if not {"image", "image_path", *VIDEOS} & found.keys():
        return "no column 'image', 'image_path', 'video' or 'video_path'"
    if "image" not in found and "prediction" in found:
        return "a result table, which has predictions and no images"
    return None


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    losses: list[Loss] = []
    first = ("index", "question", "hint", *LETTERS, "answer", "category", "l2-category", "split", "prediction")
    with TableWriter(target, first) as table:
        table.write_all(lambda: _build_table_rows(records, target, losses))
    yield from dict.fromkeys(losses)


def _build_table_rows(records: Iterable[Record], target: Target, losses: list[Loss]) -> Iterator[dict[str, Any]]:
    for record in drop_records_without_bytes(records, losses, _list_images):
        unreadable = _find_unreadable_field(record)
        if unreadable is None:
            yield _build_fields(record, target, losses)
        else:
            losses.append(Loss(record.id, unreadable[0], f"{unreadable[1]}; the row is left out", left_out=True))


def _find_unreadable_field(record: Record) -> tuple[str, str] | None:
    """Name the field for which a reader would refuse the row or show other images, and why."""
    label = read_letter_or_label(record)
    # An empty option is an empty cell, so that there is none.
    options = [option or None for option in record.options]
    if not record.images:
        return "images", "the format needs an image"
    if not (record.question or "").strip() and not (record.question is None and record.task == "caption"):
        return "question", "the format needs a question"
    if len(options) - options.count(None) == 1:
        return "options", "the format needs two or more, or none"
    if any(options) and label not in (None, "") and not is_option(str(label).strip().upper(), options):
        return "answer", "the format needs the letter of an option that has a text"
    named = _list_named_slots(record)
    if named and not are_placeholders(named, record):
        return "question", "its placeholders name other images than the prompt shows"
    return None


def _build_fields(record: Record, target: Target, losses: list[Loss]) -> dict[str, Any]:
    extra = dict(record.extra)
    headers = take_headers(extra)
    images = _list_images(record)
    # A reader counts the list of images.
    places = {image.slot: place for place, image in enumerate(images, 1)}
    if any(places[slot] != slot for slot in _list_named_slots(record)):
        losses.append(
            Loss(record.id, "question", "its placeholders are renumbered, as the images have gaps", remark=True)
        )
    if _list_named_slots(record) and not shows_what_is_named(_list_named_slots(record), record):
        losses.append(Loss(record.id, "messages", "a reader shows every image that a placeholder names"))
    if len(record.messages) > 1:
        losses.append(Loss(record.id, "messages", "only the last user turn has a place"))
    if record.attachments and not _list_named_slots(record):
        losses.append(Loss(record.id, "attachments", "the row would show them"))
    said = ("group",) if str(extra.get(_GROUP)) == record.group else ()
    losses += list_losses(record, (*_HELD, *said, *list_index_columns(record)), target)
    texts = (record.question, record.hint, *record.options)
    question, hint, *options = (_number_placeholders(text, places) for text in texts)
    fields: dict[str, Any] = {
        "index": build_index_cell(record),
        "question": question,
        "hint": hint,
        **dict(zip(LETTERS, options, strict=False)),
        "answer": read_letter_or_label(record),
        "category": record.category,
        "l2-category": record.l2_category,
        "split": record.split,
        "prediction": record.prediction,
    }
    names = [image.name for image in images if image.name is not None]
    if as_files(images, target):
        names = [write_image_file(image, target) for image in images]
    else:
        fields["image"] = _collapse_list([encode_base64(image) for image in images])
    fields["image_path"] = _collapse_list(names)
    if isinstance(fields["answer"], list | dict | int | float):
        fields["answer"] = encode_json(fields["answer"])
    filled = {name for name, value in fields.items() if value is not None}
    # A reader takes any spelling of a word whose column is not there.
    respelled = respell(dict.fromkeys((*filled, *extra)), lmu_table.WORDS)[1].values()
    fields = add_extra(fields, extra, {*_TAKEN, *respelled}, record, losses)
    empty = [_COLUMN.get(name, name) for name in fields if fields[name] == ""]
    losses += [Loss(record.id, column, "an empty cell is not text") for column in empty]
    return {headers.get(name, name): value for name, value in fields.items()}


def _list_named_slots(record: Record) -> list[int]:
    """List the slots that a reader of the row finds placeholders of."""
    return list_slots(build_plain_prompt(record.question or "", record.hint, record.options))


def _number_placeholders(text: str | None, places: Mapping[int, int]) -> str | None:
    return text and PLACEHOLDER.sub(lambda match: match[0].replace(match[1], str(places[int(match[1])])), text)


def _list_images(record: Record) -> list[Image]:
    """List the images that a row holds, by slot; attachments only where placeholders say what it shows."""
    hidden = record.attachments if _list_named_slots(record) else ()
    return sorted({image.slot: image for image in (*hidden, *record.images)}.values(), key=lambda image: image.slot)


def _collapse_list(values: list[str]) -> str | list[str] | None:
    return values[0] if len(values) == 1 else values or None


FORMAT = Format(
    summary="LMUData TSV with base64 images (VLMEvalKit)",
    suffixes=(".tsv", ".csv"),
    rows=lambda path, span: lmu_table.read_rows(path, span, [("index",), ("image", "image_path", *VIDEOS)]),
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    file_name=lambda record: f"{require_text(record.dataset, 'dataset')}.tsv",
    cuttable=True,
    images=IMAGES,
    videos=True,
    framework=Framework("VLMEvalKit", results=False, knows=NAMES.__contains__),
)
