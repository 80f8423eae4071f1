"""OpenAI chat messages as JSONL, JSON or TSV: `messages` and `answer`, images as parts or as placeholders.

A .json file holds an array of records, or one. Each record has `messages` (a list, or that list as JSON text) and may
have `answer` (a text or a list of texts). Images are `image_url` parts (path, data URL or address), or `<image k>` in
a user message that is one plain string, with the image in `image_k`; videos are `video_url` parts, or `<video k>`
with the video in `video_k`. `image` parts with a `source` are read as Anthropic writes them, and with `image`, `url`
or `path` as transformers takes them, `video` parts likewise; a `system` beside the messages is the first turn.
Source: EvalScope's General-VQA format (its custom multimodal dataset document and benchmarks/general_vqa).

Requests of batch APIs are rows, too: `custom_id` is the id, the messages are those of `body` (`messages`, or `input` of
OpenAI's Responses API) or of Anthropic's `params`; what else the request holds stays in `extra`.

Kept: other fields in `extra`, those of a message in `extra.messages_extra`, unshown images as attachments.
Refused: unknown roles and parts, tool calls, files, sounds, videos without `--frames` (`media.unsupported`), a
placeholder without its image (`placeholder.no_image`).
Lost: which kind of part an image was.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, filterfalse
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mmconvert.chat import openai
from mmconvert.chat.batch_requests import HOLDERS, ID, find_request, unwrap_request
from mmconvert.chat.conversations import MESSAGES_EXTRA, list_objects, read_messages
from mmconvert.chat.export_images import store_image
from mmconvert.chat.losses import PROMPTED, list_losses, list_prompt_losses
from mmconvert.chat.plain_lines import read_plain_lines
from mmconvert.chat.training import read_messages_extra
from mmconvert.chat.videos import ShownVideos, list_numbered_videos
from mmconvert.core.errors import RowError, in_field, show
from mmconvert.core.plain_chats import PlainLine
from mmconvert.core.record import Image, Part, Record, Turn, encode_json
from mmconvert.core.rows import DELIMITERS, Rejected, Row, Span
from mmconvert.core.text.json import parse_json
from mmconvert.core.text.placeholders import format_turn, interleave, list_slots, parse_image_slot
from mmconvert.io import columns, json_array, jsonl, tables
from mmconvert.io.write_delimited import write_rows
from mmconvert.kits.evalscope.outputs import MARKS
from mmconvert.plugins.format import IMAGES, Context, Format, Loss, PlainReader, Sample, Target


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    suffix = path.suffix.lower()
    if suffix == ".json":
        return json_array.rows(path, span, single=True)
    return tables.rows(path, span) if suffix in DELIMITERS else jsonl.rows(path, span)


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields, place = unwrap_request(row.fields)
    messages = fields.pop("messages", None)
    if isinstance(messages, str):
        with in_field(place):
            messages = parse_json(messages)
    messages = read_messages(messages, place)
    numbered_images = columns.take_numbered_images(fields, context)
    numbered = list_numbered_videos(fields, context)
    videos = ShownVideos(numbered, numbered_images, context) if numbered else None
    turns: list[Turn] = []
    images: list[Image] = []
    extras: list[dict[str, Any]] = []
    question: str | None = None
    free = filterfalse(numbered_images.__contains__, count(1))
    for number, given in enumerate(messages):
        message = given if videos is None else _expand_videos(given, f"{place}[{number}].content", videos)
        turn = openai.read_plain_turn(message)
        shown: Sequence[Image] = ()
        extra: dict[str, Any] = {}
        if turn is None or (turn.role == "user" and list_slots(turn.content[0].text)):
            turn, shown, extra = _read_turn(message, f"{place}[{number}]", numbered_images, free, context)
            images += shown
        turns.append(turn)
        extras.append(extra)
        if turn.role == "user":
            question = format_turn(turn, shown)
    if videos is not None:
        videos.require_shown()
        fields = {name: value for name, value in fields.items() if name not in context.videos}
    hidden = columns.list_unshown_images(numbered_images, images, context) if numbered_images else ()
    label = fields.pop("answer", None)
    answers = _read_answers(label)
    if "system" in fields and (system := _read_system(fields, turns)):
        del fields["system"]
        turns, extras = [Turn("system", system), *turns], [{}, *extras]
    key = columns.take_id(fields, row, context)
    beside = columns.keep_extra_fields(fields)
    if any(extras):
        beside[MESSAGES_EXTRA] = extras
    yield Record(
        id=key,
        sample=key,
        messages=tuple(turns),
        task=context.task or ("chat" if turns[-1].role == "assistant" else "vqa"),
        source=context.source(row),
        images=tuple(images),
        question=question,
        answer=answers[0] if answers else None,
        answers=answers,
        label=None if label is None else encode_json(label),
        dataset=context.dataset,
        subset=context.subset,
        attachments=hidden,
        extra=beside,
    )


def _read_plain_lines(raw: bytes) -> list[PlainLine] | None:
    lines = read_plain_lines(raw)
    if lines is None or (any(mark in raw for mark in (b"<image", b"\\u003c", b"\\u003C")) and _shows_images(lines)):
        return None
    return lines


def _shows_images(lines: Iterable[PlainLine]) -> bool:
    return any(list_slots(turn.content) for line in lines for turn in line.messages)


def _read_system(fields: Mapping[str, Any], turns: Sequence[Turn]) -> tuple[Part, ...]:
    """Read the field `system` as Anthropic has it beside the messages, a text or texts; () where it is no prompt."""
    given = fields.get("system")
    items = given if isinstance(given, list) else [{"type": "text", "text": given}]
    texts = [item["text"] for item in list_objects(items) if item.get("type") == "text" and item.get("text")]
    if any(turn.role == "system" for turn in turns) or len(texts) < len(items):
        return ()
    return tuple(Part("text", text) for text in texts) if all(isinstance(text, str) for text in texts) else ()


def _expand_videos(message: dict[str, Any], field: str, videos: ShownVideos) -> dict[str, Any]:
    content = message.get("content")
    if message.get("role") != "user" or not isinstance(content, str):
        return message
    with in_field(field):
        return {**message, "content": videos.expand(content)}


def _read_turn(
    message: Mapping[str, Any], where: str, images: Mapping[int, Image], free: Iterator[int], context: Context
) -> tuple[Turn, Sequence[Image], dict[str, Any]]:
    role, content, extra = openai.read_message(message, where)
    if role == "user" and isinstance(content, str) and list_slots(content):
        parts, shown = interleave(content, images, f"{where}.content")
    else:
        parts, shown = openai.read_content(content, where, 0, context)
        shown = tuple(replace(image, slot=next(free)) for image in shown)
    return Turn(role, parts), shown, extra


def _read_answers(label: Any) -> tuple[str, ...]:
    if label is None:
        return ()
    if isinstance(label, str):
        return (label,)
    values = label if isinstance(label, list) else [label]
    if any(isinstance(v, bool) or not isinstance(v, str | int | float) for v in values):
        raise RowError("answer.type", "answer", f"expected a text, a number or a list of them {show(label)}.")
    return tuple(str(value) for value in values)


def _find_mismatch(sample: Sample) -> str | None:
    if sample.rows and all(map(find_request, sample.rows)):
        return None
    if "messages" not in sample.columns:
        requests = ID in sample.columns and any(name in sample.columns for name in HOLDERS)
        return "its requests hold no messages" if requests else "no field 'messages'"
    if clash := sample.find_clash(("images", "image", *MARKS), "field"):
        return clash
    keys = {key for row in sample.rows for key in openai.list_own_keys(row.get("messages"))}
    if None in keys:
        return "a part of type 'image' or 'video' stands for one elsewhere"
    if keys - {"source"} and "answer" not in sample.columns:
        return "parts of type 'image' or 'video' and no answer, as TRL has them"
    if any(openai.holds_part_values(row.get("messages")) for row in sample.rows):
        return "parts hold their content in 'value', as LLaMA-Factory v1 writes them"
    evaluated = any(name == "answer" or parse_image_slot(name) for name in sample.columns)
    facts = [row["messages"] for row in sample.rows if list_objects(row.get("messages"))]
    if not evaluated and facts and all(map(openai.ends_with_assistant, facts)):
        return "each row ends with the assistant and none has an answer, as training data do"
    return None


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    losses: list[Loss] = []
    write_rows(lambda: _build_rows(records, target, losses), target)
    yield from dict.fromkeys(losses)


def _build_rows(records: Iterable[Record], target: Target, losses: list[Loss]) -> Iterator[dict[str, Any]]:
    for record in columns.number_records(_drop_answered_turns(records, losses), target.first_row):
        yield _build_fields(record, target, losses)


def _drop_answered_turns(records: Iterable[Record], losses: list[Loss]) -> Iterator[Record]:
    for record in records:
        if record.messages:
            yield record
        else:
            losses.append(Loss(record.id, "messages", "there are none; the row is left out", left_out=True))


def _build_fields(record: Record, target: Target, losses: list[Loss]) -> dict[str, Any]:
    extra = dict(record.extra)
    extra.pop(MESSAGES_EXTRA, None)
    images = iter(record.images)
    messages = []
    for turn, more in zip(record.messages, read_messages_extra(record), strict=True):
        content: Any = [openai.build_part(part, images, target) for part in turn.content]
        if len(content) == 1 and content[0]["type"] == "text" and not list_slots(content[0]["text"]):
            content = content[0]["text"]
        messages.append({"role": turn.role, "content": content, **more})
    fields: dict[str, Any] = {**columns.build_own_id(record)}
    fields["messages"] = messages
    if record.label is not None:
        fields["answer"] = columns.read_letter_or_label(record)
    fields.update({f"image_{i.slot}": store_image(i, target) for i in record.attachments})
    losses += list_prompt_losses(record)
    if target.path.suffix.lower() in DELIMITERS:
        if len(record.answers) == 1 and isinstance(fields.get("answer"), list):
            fields["answer"] = record.answers[0]
        if isinstance(fields.get("answer"), list):
            losses.append(Loss(record.id, "answers", "a cell holds one text; .jsonl holds a list"))
        if fields.get("answer") == "":
            losses.append(Loss(record.id, "answer", 'an empty cell is not an answer; .jsonl holds ""'))
    losses += list_losses(record, (*PROMPTED, "attachments"), target)
    image_columns = {name for name in extra if parse_image_slot(name) is not None}
    return columns.add_extra(fields, extra, {"id", "messages", "answer", "system", *image_columns}, record, losses)


FORMAT = Format(
    summary="OpenAI chat messages with an answer (EvalScope General-VQA)",
    suffixes=(".jsonl", ".json", ".tsv", ".csv"),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    splittable=True,
    cuttable=True,
    images=IMAGES,
    videos=True,
    plain=PlainReader(_read_plain_lines, _read_rows, _read_records),
)
