"""MMMU and MMMU-Pro as Hub parquet: `id`, `question`, `options` as list text, `image_1` .. `image_7`.

All columns but the pictures are texts. `<image k>` in question and options names `image_k`; a vision
record of MMMU-Pro has one `image` and no question; repackagings have a sequence of options, or of pictures
in `image` or `images`, whose k-th is meant. Source: MMMU-Benchmark/MMMU@bb0b95a and the dataset
cards of MMMU/MMMU and MMMU/MMMU_Pro.

Kept: explanation, topic, subfield, image types and the options as written in `extra`.
Refused: rows without id, with neither question nor picture, a placeholder without its picture, the letter of no
option.
Lost: rows that a reader would refuse or whose placeholders are not what the prompt shows; hidden pictures where no
placeholder says what is shown; pictures behind the seventh; gaps between options; an answer that is empty or "?";
columns that MMMU has not.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mmconvert.chat.conversations import picture, placed
from mmconvert.chat.export_images import with_bytes
from mmconvert.chat.losses import unheld
from mmconvert.core.errors import RowError, got, in_field
from mmconvert.core.record import IMAGE_TYPE, Image, Part, Record, Turn, canonical_json, with_features
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.core.text.literals import looks_like_list, parse_list
from mmconvert.core.text.options import answer_letter, option_texts, plain_prompt
from mmconvert.core.text.placeholders import image_slot, interleave, slots_in
from mmconvert.core.text.turns import shows_what_is_named, stand_for_pictures
from mmconvert.io import parquet
from mmconvert.io.columns import json_rest, letter_or_label, unshown
from mmconvert.kits.mmmu.subjects import DOMAIN_OF
from mmconvert.plugins.format import Context, Format, Loss, Sample, Target

_COLUMNS = (
    "id", "question", "options", "explanation", *(f"image_{k}" for k in range(1, 8)), "img_type", "answer",
    "topic_difficulty", "question_type", "subfield",
)  # fmt: skip
_BESIDE = ("explanation", "img_type", "topic_difficulty", "question_type", "subfield")
_HELD = ("options", "attachments", "sample")
_OPEN_PROMPT = "Answer the question using a single word or phrase."


def _rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    return parquet.rows(path, span)


def _records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    key = fields.pop("id", None)
    if not isinstance(key, str) or not key.strip():
        raise RowError("id.missing", "id", f"expected a text {got(key)}.")
    pictures = _pictures(fields, context)
    raw_options, label = fields.pop("options", None), fields.pop("answer", None)
    options = _options(raw_options)
    question = fields.pop("question", None)
    if not isinstance(question, str | None):
        raise RowError("question.type", "question", f"expected a text {got(question)}.")
    answers = _answers(label, options)
    parts, shown = _prompt(question, options, pictures)
    named = fields.get("subject")
    subject = named if isinstance(named, str) and named else _said_subject(key)
    extra = json_rest(fields, context)
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
        label=None if label is None else canonical_json(label),
        category=subject,
        l2_category=DOMAIN_OF.get(subject or ""),
        split=_said_split(key),
        dataset=context.dataset,
        subset=context.subset,
        attachments=unshown(pictures, shown, context),
        extra=extra,
    )


def _said_split(key: str) -> str | None:
    return key.split("_")[0] if "_" in key else None


def _said_subject(key: str) -> str | None:
    return "_".join(key.split("_")[1:-1]) or None


def _pictures(fields: dict[str, Any], context: Context) -> dict[int, Image]:
    pictures = {}
    for name in list(fields):
        slot = 1 if name in ("image", "images") else image_slot(name)
        if slot is None:
            continue
        for number, (place, value) in enumerate(placed(fields.pop(name), name), slot):
            with in_field(place):
                if not isinstance(value, dict) or not {"bytes", "path"} <= value.keys():
                    raise RowError("image.type", "", f"expected a picture of bytes and path {got(value)}.")
                if value["bytes"] is not None or value["path"]:
                    pictures[number] = picture(value, number, context)
    return dict(sorted(pictures.items()))


def _options(value: Any) -> tuple[str, ...]:
    if value is None or (isinstance(value, str) and value.strip() in ("", "[]")) or value == []:
        return ()
    with in_field("options"):
        return option_texts(value)


def _answers(label: Any, options: tuple[str, ...]) -> tuple[str, ...]:
    # The test splits publish "?" where the answer is withheld.
    if label is None or label in ("", "?"):
        return ()
    if not isinstance(label, str):
        raise RowError("answer.type", "answer", f"expected a text {got(label)}.")
    if options:
        with in_field("answer"):
            return (answer_letter(label, options),)
    if looks_like_list(label):
        with in_field("answer"):
            return tuple(str(item) for item in parse_list(label))
    return (label,)


def _prompt(
    question: str | None, options: tuple[str, ...], pictures: dict[int, Image]
) -> tuple[tuple[Part, ...], tuple[Image, ...]]:
    if question is None:
        if not pictures:
            raise RowError("question.missing", "question", "the row has neither a question nor a picture.")
        letters = plain_prompt("", None, options).rpartition("\n")[2]
        return (*(Part("image") for _ in pictures), Part("text", letters)), tuple(pictures.values())
    text = plain_prompt(question, None, options) if options else f"{question}\n{_OPEN_PROMPT}"
    if not slots_in(text):
        return (*(Part("image") for _ in pictures), Part("text", text)), tuple(pictures.values())
    return interleave(text, pictures, "question")


def _mismatch(sample: Sample) -> str | None:
    if "image_info" in sample.columns:
        return "it has a column 'image_info'"
    for name in ("id", "options", "answer"):
        if name not in sample.columns:
            return f"no column {name!r}"
    if not any(name in ("image", "images") or image_slot(name) for name in sample.columns):
        return "no column 'image_1'"
    return None


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    pictures = [name for name in _COLUMNS if image_slot(name)]
    schema = with_features(pa.schema([(n, IMAGE_TYPE if n in pictures else pa.string()) for n in _COLUMNS]))
    losses: list[Loss] = []
    with pq.ParquetWriter(target.path, schema) as writer:
        for record in with_bytes(records, losses, _stored):
            row = _fields(record)
            unreadable = _unreadable(record, row)
            if unreadable is None:
                losses += _losses(record, row, target)
                writer.write_batch(pa.RecordBatch.from_pylist([row], schema=schema))
            else:
                losses.append(Loss(record.id, unreadable[0], f"{unreadable[1]}; the row is left out", left_out=True))
    yield from losses


def _fields(record: Record) -> dict[str, Any]:
    options, label = record.extra.get("options"), letter_or_label(record)
    return {
        "id": record.id,
        "question": record.question,
        "options": (
            options if isinstance(options, str) and _says(options, record) else canonical_json(list(_filled(record)))
        ),
        "answer": label if isinstance(label, str | None) else record.label,
        "question_type": "multiple-choice" if record.options else "open",
        **{name: record.extra[name] for name in _BESIDE if isinstance(record.extra.get(name), str)},
        **{
            name: {"bytes": image.bytes, "path": None}
            for image in _stored(record)
            if (name := f"image_{image.slot}") in _COLUMNS
        },
    }


def _filled(record: Record) -> tuple[str, ...]:
    return tuple(option or "" for option in record.options)


def _says(written: Any, record: Record) -> bool:
    """Tell whether the options as a source wrote them are those of the record."""
    try:
        return _options(written) == record.options
    except RowError:
        return False


def _stored(record: Record) -> list[Image]:
    """List the pictures that a row holds; attachments only where placeholders say what it shows."""
    hidden = record.attachments if _named(record) else ()
    return list({image.slot: image for image in (*hidden, *record.images)}.values())


def _named(record: Record) -> list[int]:
    return slots_in(plain_prompt(record.question or "", None, record.options))


def _unreadable(record: Record, row: Mapping[str, Any]) -> tuple[str, str] | None:
    """Name the field for which a reader would refuse the row or show other pictures, and why."""
    pictures = {image.slot: image for image in _stored(record) if f"image_{image.slot}" in row}
    try:
        options = _options(row["options"])
        _answers(row["answer"], options)
        _prompt(record.question, options, pictures)
    except RowError as error:
        return error.field, error.message.rstrip(".")
    named = _named(record)
    if named and not stand_for_pictures(named, record):
        return "question", "its placeholders name other pictures than the prompt shows"
    return None


def _losses(record: Record, row: Mapping[str, Any], target: Target) -> Iterator[Loss]:
    if None in record.options:
        yield Loss(record.id, "options", "a gap is written as an empty option")
    if _answers(row["answer"], _filled(record)) != record.answers:
        yield Loss(record.id, "answer", "a reader would take it for another, or for none")
    if record.attachments and not _named(record):
        yield Loss(record.id, "attachments", "the row would show them")
    for image in _stored(record):
        if f"image_{image.slot}" not in row:
            yield Loss(record.id, "images", f"there is no column image_{image.slot}")
    for name, value in record.extra.items():
        if row.get(name) != value and not (name == "options" and _says(value, record)):
            yield Loss(record.id, name, "the format has no such column, or another use for it")
    subject = _said_subject(record.id)
    said = {"split": _said_split(record.id), "category": subject, "l2_category": DOMAIN_OF.get(subject or "")}
    yield from unheld(record, _HELD, target, said)
    if record.sample != record.id:
        yield Loss(record.id, "sample", "the format has one id for a row")
    if _named(record) and not shows_what_is_named(_named(record), record):
        yield Loss(record.id, "messages", "a reader shows every picture that a placeholder names")
    if len(record.messages) > 1:
        yield Loss(record.id, "messages", "only the question has a place")


FORMAT = Format(
    summary="MMMU and MMMU-Pro parquet with Image columns",
    suffixes=(".parquet",),
    rows=_rows,
    records=_records,
    mismatch=_mismatch,
    write=_write,
    cuttable=True,
    images=("inline",),
)
