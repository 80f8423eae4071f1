"""Visual multiple choice as JSONL or TSV: `question`, `options`, `answer`, `image_1` .. `image_100`.

`<image k>` in question and options names the image in `image_k`, or the k-th of the list `images`: a path, data URL
or address, or an object with `bytes` or `path`; `<video k>` names the video in `video_k` or the k-th of `videos`.
Options are a list, or such a list as JSON or Python literal in a text. The answer is one letter, also as `(B)`, `B.` or
`B) text`; EvalScope compares with the letter, so that an option's text is none. Source:
EvalScope's General-VMCQ format (its custom multimodal dataset document and benchmarks/general_vmcq).

Kept: columns without a place, and the options as written, in `extra`; unshown images as attachments.
Refused: rows without a question, fewer than 2 or more than 26 options, the letter of no option, a placeholder
without image, an image in `image_k` and in `images` (`image.twice`), sounds, videos without `--frames`
(`media.unsupported`).
Lost: rows with an image beyond `image_100`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from mmconvert.chat.export_images import store_image
from mmconvert.chat.losses import list_losses
from mmconvert.chat.plain_answers import build_unclear_place_error, is_unclear_place
from mmconvert.chat.videos import NUMBERED, ShownVideos, list_numbered_videos
from mmconvert.core.errors import RowError, in_field, show
from mmconvert.core.record import LETTERS, Image, Record, Turn, encode_json
from mmconvert.core.rows import DELIMITERS, Rejected, Row, Span
from mmconvert.core.text.image_markers import NO_SAMPLING
from mmconvert.core.text.json import parse_json
from mmconvert.core.text.options import (
    build_plain_prompt,
    find_answer_letter,
    is_option,
    read_answer_letter,
    read_option_texts,
    split_letter_mark,
)
from mmconvert.core.text.placeholders import MAX_SLOT, interleave, list_slots, parse_image_slot
from mmconvert.io import columns, jsonl, tables
from mmconvert.io.write_delimited import write_rows
from mmconvert.plugins.format import IMAGES, Context, Format, Loss, Sample, Target

_REQUIRED = ("question", "options")
_MEDIA = re.compile(r"<(?:video|audio)[ _]\d{1,6}>", re.ASCII)
_SOUND = re.compile(r"<audio[ _]\d{1,6}>", re.ASCII)


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    if path.suffix.lower() not in DELIMITERS:
        return jsonl.rows(path, span)
    tables.require(path, _REQUIRED)
    # Hand-written tables leave out the cells of images a row does not have.
    return tables.rows(path, span, may_lack=lambda name: parse_image_slot(name) is not None)


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    question, raw_options = fields.pop("question", None), fields.pop("options", None)
    if not isinstance(question, str) or not question.strip():
        raise RowError("question.missing", "question", f"expected a text {show(question)}.")
    with in_field("options"):
        options = read_option_texts(raw_options)
    label = fields.pop("answer", None)
    answer = _read_answer(label, options, context)
    images = columns.take_numbered_images(fields, context)
    columns.take_listed_images(fields, images, context)
    question, *texts = _show_videos(fields, (question, *options), images, context)
    options = tuple(texts)
    prompt = build_plain_prompt(question, None, options)
    parts, shown = interleave(prompt, images, "question")
    hidden = columns.list_unshown_images(images, shown, context)
    key = columns.take_id(fields, row, context)
    extra = columns.keep_extra_fields(fields)
    if not _are_plain_options(raw_options, row):
        extra["options"] = raw_options
    yield Record(
        id=key,
        sample=key,
        messages=(Turn("user", parts),),
        task=context.task or "multiple_choice",
        source=context.source(row),
        images=shown,
        question=question,
        options=options,
        answer=answer,
        answers=() if answer is None else (answer,),
        label=None if label is None else encode_json(label),
        dataset=context.dataset,
        subset=context.subset,
        attachments=hidden,
        extra=extra,
    )


def _show_videos(
    fields: dict[str, Any], texts: Sequence[str], images: dict[int, Image], context: Context
) -> Sequence[str]:
    """Put placeholders of frames, which are loaded beside the images, in the place of those of videos."""
    sampled = context.images.sampling is not None
    if found := (_SOUND if sampled else _MEDIA).search(" ".join(texts)):
        told = NO_SAMPLING if found[0].startswith("<video") else "sounds are not supported yet. Leave the row out."
        raise RowError("media.unsupported", "question", f"{found[0]}: {told}")
    videos = ShownVideos(list_numbered_videos(fields, context), images, context)
    with in_field("question"):
        shown = [videos.expand(text) for text in texts]
        if sampled and (lost := NUMBERED.search(" ".join(shown))):
            message = f"{lost[0]} is in the text, but the row has no video."
            raise RowError("placeholder.no_image", "", message)
    videos.require_shown()
    for name in [*context.videos]:
        fields.pop(name, None)
    return shown


def _are_plain_options(value: Any, row: Row) -> bool:
    """Tell whether the column `options` alone says what the source wrote."""
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except RowError:
            return False
        if Path(row.where.file).suffix.lower() not in DELIMITERS:
            return False
    return all(isinstance(option, str) for option in value)


def _read_answer(label: Any, options: tuple[str, ...], context: Context) -> str | None:
    if label is None or label == "":
        return None
    answer = find_answer_letter(label, options) if isinstance(label, str) else None
    if answer is None:
        if is_unclear_place(label, options):
            raise build_unclear_place_error(label, "answer")
        if not isinstance(label, str):
            raise RowError("answer.type", "answer", f"expected one letter {show(label)}.")
        with in_field("answer"):
            return read_answer_letter(label, options)
    said = label.strip()
    if len(said) > 1 and not split_letter_mark(said)[0]:
        message = f"the text of option {answer} is no answer here {show(label)}. Write {answer}."
        raise RowError("answer.not_an_option", "answer", message)
    if answer != label:
        context.warn("an answer is not written as the letter that it names")
    return answer


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    losses: list[Loss] = []
    write_rows(lambda: _build_rows(records, target, losses), target, ("id", "question", "options", "answer"))
    yield from dict.fromkeys(losses)


def _build_rows(records: Iterable[Record], target: Target, losses: list[Loss]) -> Iterator[dict[str, Any]]:
    for record in columns.number_records(_drop_answered_turns(records, losses)):
        yield _build_fields(record, target, losses)


def _drop_answered_turns(records: Iterable[Record], losses: list[Loss]) -> Iterator[Record]:
    for record in records:
        if not 2 <= len(record.options) <= len(LETTERS):
            message = f"the format needs 2 to {len(LETTERS)}; the row is left out"
            losses.append(Loss(record.id, "options", message, left_out=True))
        elif record.label is not None and not is_option(record.answer, record.options):
            message = "the format needs the letter of one option; the row is left out"
            losses.append(Loss(record.id, "answer", message, left_out=True))
        elif any(image.slot > MAX_SLOT for image in (*record.images, *record.attachments)):
            message = f"the format has columns up to image_{MAX_SLOT}; the row is left out"
            losses.append(Loss(record.id, "images", message, left_out=True))
        elif not _build_question(record).strip():
            losses.append(Loss(record.id, "question", "there is none; the row is left out", left_out=True))
        else:
            yield record


def _build_fields(record: Record, target: Target, losses: list[Loss]) -> dict[str, Any]:
    extra = dict(record.extra)
    if None in record.options:
        losses.append(Loss(record.id, "options", "the format needs an unbroken list of options"))
    if len(record.messages) > 1:
        losses.append(Loss(record.id, "messages", "only the question has a place"))
    losses += list_losses(record, ("options", "attachments"), target)
    fields: dict[str, Any] = {**columns.build_own_id(record)}
    fields["question"] = _build_question(record)
    fields["options"] = extra.pop("options", None) or [option or "" for option in record.options]
    if record.label is not None:
        fields["answer"] = columns.read_letter_or_label(record)
    shown = {image.slot: image for image in (*record.images, *record.attachments)}
    fields.update({f"image_{slot}": store_image(image, target) for slot, image in sorted(shown.items())})
    images = {name for name in extra if parse_image_slot(name) is not None}
    return columns.add_extra(fields, extra, {"id", *_REQUIRED, "answer", columns.LISTED, *images}, record, losses)


def _build_question(record: Record) -> str:
    """Give the question; images that the prompt shows and no placeholder names stand in front of it."""
    question = record.question or ""
    named = list_slots(" ".join([question, *(option or "" for option in record.options)]))
    unnamed = dict.fromkeys(image.slot for image in record.images if image.slot not in named)
    return "".join(f"<image {slot}> " for slot in unnamed) + question


def _find_mismatch(sample: Sample) -> str | None:
    if wrong := sample.find_missing(_REQUIRED, "field") or sample.find_clash(("prediction", "response", "A")):
        return wrong
    if any(isinstance(row.get("options"), dict) for row in sample.rows):
        return "options are an object of letters"
    if any(parse_image_slot(name) is not None for name in sample.columns):
        return None
    # Its images would be left out without a word.
    return sample.find_clash(("image", "images", "image_path", "image_file", "file_name", "img"), "field")


FORMAT = Format(
    summary="Visual multiple choice with image_k columns (EvalScope General-VMCQ)",
    suffixes=(".jsonl", ".tsv", ".csv"),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    cuttable=True,
    images=IMAGES,
    videos=True,
)
