"""MMMU and MMMU-Pro as Hub parquet: `id`, `question`, `options` as list text, `image_1` .. `image_7`.

All columns but the images are texts. `<image k>` in question and options names `image_k`; a vision
record of MMMU-Pro has one `image` and no question; repackagings have a sequence of options, or of images
in `image` or `images`, whose k-th is meant. Source: MMMU-Benchmark/MMMU@bb0b95a and the dataset
cards of MMMU/MMMU and MMMU/MMMU_Pro.

Kept: explanation, topic, subfield, image types and the options as written in `extra`.
Refused: rows without id, with neither question nor image, a placeholder without its image, the letter of no
option.
Lost: rows that a reader would refuse or whose placeholders are not what the prompt shows; hidden images where no
placeholder says what is shown; images behind the seventh; gaps between options; an answer that is empty or "?";
columns that MMMU has not.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mmconvert.chat.conversations import list_elements, load_image
from mmconvert.chat.export_images import drop_records_without_bytes
from mmconvert.chat.losses import list_losses
from mmconvert.core.errors import RowError, in_field, show
from mmconvert.core.record import IMAGE_TYPE, Image, Part, Record, Turn, attach_features, encode_json
from mmconvert.core.rows import Row
from mmconvert.core.text.literals import looks_like_list, parse_list
from mmconvert.core.text.options import build_plain_prompt, read_answer_letter, read_option_texts
from mmconvert.core.text.placeholders import interleave, list_slots, parse_image_slot
from mmconvert.core.text.turns import are_placeholders, shows_what_is_named
from mmconvert.io import parquet
from mmconvert.io.columns import keep_json_fields, list_unshown_images, read_letter_or_label
from mmconvert.kits.mmmu.subjects import DOMAIN_OF, parse_split, parse_subject
from mmconvert.plugins.format import Context, Format, Loss, Sample, Target

_COLUMNS = (
    "id", "question", "options", "explanation", *(f"image_{k}" for k in range(1, 8)), "img_type", "answer",
    "topic_difficulty", "question_type", "subfield",
)  # fmt: skip
_BESIDE = ("explanation", "img_type", "topic_difficulty", "question_type", "subfield")
_HELD = ("options", "attachments", "sample")
_OPEN_PROMPT = "Answer the question using a single word or phrase."


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    key = fields.pop("id", None)
    if not isinstance(key, str) or not key.strip():
        raise RowError("id.missing", "id", f"expected a text {show(key)}.")
    images = _load_images(fields, context)
    raw_options, label = fields.pop("options", None), fields.pop("answer", None)
    options = _read_options(raw_options)
    question = fields.pop("question", None)
    if not isinstance(question, str | None):
        raise RowError("question.type", "question", f"expected a text {show(question)}.")
    answers = _read_answers(label, options)
    parts, shown = _build_prompt(question, options, images)
    named = fields.get("subject")
    subject = named if isinstance(named, str) and named else parse_subject(key) or None
    extra = keep_json_fields(fields, context)
    if raw_options is not None:
        extra["options"] = raw_options
    yield Record(
        id=key.strip(),
        sample=key.strip(),
        messages=(Turn("user", parts),),
        task=context.task or ("multiple_choice" if options else "vqa"),
        source=context.source(row),
        images=shown,
        question=question,
        options=options,
        answer=answers[0] if answers else None,
        answers=answers,
        label=None if label is None else encode_json(label),
        category=subject,
        l2_category=DOMAIN_OF.get(subject or ""),
        split=parse_split(key),
        dataset=context.dataset,
        subset=context.subset,
        attachments=list_unshown_images(images, shown, context),
        extra=extra,
    )


def _load_images(fields: dict[str, Any], context: Context) -> dict[int, Image]:
    images = {}
    for name in list(fields):
        slot = 1 if name in ("image", "images") else parse_image_slot(name)
        if slot is None:
            continue
        for number, (place, value) in enumerate(list_elements(fields.pop(name), name), slot):
            with in_field(place):
                if not isinstance(value, dict) or not {"bytes", "path"} <= value.keys():
                    raise RowError("image.type", "", f"expected an image of bytes and path {show(value)}.")
                if value["bytes"] is not None or value["path"]:
                    images[number] = load_image(value, number, context)
    return dict(sorted(images.items()))


def _read_options(value: Any) -> tuple[str, ...]:
    if value is None or (isinstance(value, str) and value.strip() in ("", "[]")) or value == []:
        return ()
    with in_field("options"):
        return read_option_texts(value)


def _read_answers(label: Any, options: tuple[str, ...]) -> tuple[str, ...]:
    # The test splits publish "?" where the answer is withheld.
    if label is None or label in ("", "?"):
        return ()
    if not isinstance(label, str):
        raise RowError("answer.type", "answer", f"expected a text {show(label)}.")
    if options:
        with in_field("answer"):
            return (read_answer_letter(label, options),)
    if looks_like_list(label):
        with in_field("answer"):
            return tuple(str(item) for item in parse_list(label))
    return (label,)


def _build_prompt(
    question: str | None, options: tuple[str, ...], images: dict[int, Image]
) -> tuple[tuple[Part, ...], tuple[Image, ...]]:
    if question is None:
        if not images:
            raise RowError("question.missing", "question", "the row has neither a question nor an image.")
        letters = build_plain_prompt("", None, options).rpartition("\n")[2]
        return (*(Part("image") for _ in images), Part("text", letters)), tuple(images.values())
    text = build_plain_prompt(question, None, options) if options else f"{question}\n{_OPEN_PROMPT}"
    if not list_slots(text):
        return (*(Part("image") for _ in images), Part("text", text)), tuple(images.values())
    return interleave(text, images, "question")


def _find_mismatch(sample: Sample) -> str | None:
    if "image_info" in sample.columns:
        return "it has a column 'image_info'"
    if missing := sample.find_missing(("id", "options", "answer")):
        return missing
    shown = any(name in ("image", "images") or parse_image_slot(name) for name in sample.columns)
    return None if shown else "no column 'image_1'"


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    images = [name for name in _COLUMNS if parse_image_slot(name)]
    schema = attach_features(pa.schema([(n, IMAGE_TYPE if n in images else pa.string()) for n in _COLUMNS]))
    losses: list[Loss] = []
    with pq.ParquetWriter(target.path, schema) as writer:
        for record in drop_records_without_bytes(records, losses, _list_stored_images):
            row = _build_fields(record)
            unreadable = _find_unreadable_field(record, row)
            if unreadable is None:
                losses += _list_losses(record, row, target)
                writer.write_batch(pa.RecordBatch.from_pylist([row], schema=schema))
            else:
                losses.append(Loss(record.id, unreadable[0], f"{unreadable[1]}; the row is left out", left_out=True))
    yield from losses


def _build_fields(record: Record) -> dict[str, Any]:
    options, label = record.extra.get("options"), read_letter_or_label(record)
    return {
        "id": record.id,
        "question": record.question,
        "options": (
            options
            if isinstance(options, str) and _says(options, record)
            else encode_json(list(_list_filled_columns(record)))
        ),
        "answer": label if isinstance(label, str | None) else record.label,
        "question_type": "multiple-choice" if record.options else "open",
        **{name: record.extra[name] for name in _BESIDE if isinstance(record.extra.get(name), str)},
        **{
            name: {"bytes": image.bytes, "path": None}
            for image in _list_stored_images(record)
            if (name := f"image_{image.slot}") in _COLUMNS
        },
    }


def _list_filled_columns(record: Record) -> tuple[str, ...]:
    return tuple(option or "" for option in record.options)


def _says(written: Any, record: Record) -> bool:
    """Tell whether the options as a source wrote them are those of the record."""
    try:
        return _read_options(written) == record.options
    except RowError:
        return False


def _list_stored_images(record: Record) -> list[Image]:
    """List the images that a row holds; attachments only where placeholders say what it shows."""
    hidden = record.attachments if _list_named_slots(record) else ()
    return list({image.slot: image for image in (*hidden, *record.images)}.values())


def _list_named_slots(record: Record) -> list[int]:
    return list_slots(build_plain_prompt(record.question or "", None, record.options))


def _find_unreadable_field(record: Record, row: Mapping[str, Any]) -> tuple[str, str] | None:
    """Name the field for which a reader would refuse the row or show other images, and why."""
    images = {image.slot: image for image in _list_stored_images(record) if f"image_{image.slot}" in row}
    try:
        options = _read_options(row["options"])
        _read_answers(row["answer"], options)
        _build_prompt(record.question, options, images)
    except RowError as error:
        return error.field, error.message.rstrip(".")
    named = _list_named_slots(record)
    if named and not are_placeholders(named, record):
        return "question", "its placeholders name other images than the prompt shows"
    return None


def _list_losses(record: Record, row: Mapping[str, Any], target: Target) -> Iterator[Loss]:
    if None in record.options:
        yield Loss(record.id, "options", "a gap is written as an empty option")
    if _read_answers(row["answer"], _list_filled_columns(record)) != record.answers:
        yield Loss(record.id, "answer", "a reader would take it for another, or for none")
    if record.attachments and not _list_named_slots(record):
        yield Loss(record.id, "attachments", "the row would show them")
    for image in _list_stored_images(record):
        if f"image_{image.slot}" not in row:
            yield Loss(record.id, "images", f"there is no column image_{image.slot}")
    for name, value in record.extra.items():
        if row.get(name) != value and not (name == "options" and _says(value, record)):
            yield Loss(record.id, name, "the format has no such column, or another use for it", remark=True)
    subject = parse_subject(record.id) or None
    said = {"split": parse_split(record.id), "category": subject, "l2_category": DOMAIN_OF.get(subject or "")}
    yield from list_losses(record, _HELD, target, said)
    if record.sample != record.id:
        yield Loss(record.id, "sample", "the format has one id for a row", remark=True)
    if _list_named_slots(record) and not shows_what_is_named(_list_named_slots(record), record):
        yield Loss(record.id, "messages", "a reader shows every image that a placeholder names")
    if len(record.messages) > 1:
        yield Loss(record.id, "messages", "only the question has a place")


FORMAT = Format(
    summary="MMMU and MMMU-Pro parquet with Image columns",
    suffixes=(".parquet",),
    rows=parquet.rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    cuttable=True,
    images=("inline",),
)
