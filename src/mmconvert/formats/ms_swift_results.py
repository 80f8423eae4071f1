"""ms-swift's `infer_result.jsonl`: `response` beside the row that was asked, and `labels`, the reference.

`swift infer` takes the last response out of `messages` as `labels`, and puts the model's there. Before version 3 a row
has `query`, `history` and `label` in their place. `labels` is null where the row had no response; a row of an
interactive session has none. Content is one text; `<image>` stands for the next of the row's `images`, those without
one stand in front. Source: modelscope/ms-swift@0319d04 swift/pipelines/infer/infer.py.

Kept: `logprobs` and other fields in `extra`, those of a message in `extra.messages_extra`.
Refused: rows whose `response` is no text, more `<image>` than images (`placeholder.count`), `<video>` and `<audio>` in
a message (`media.unsupported`), tool calls.
Lost: nothing; images that are not available are named in a warning.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from mmconvert.chat import conversations, queries
from mmconvert.core.errors import RowError, show
from mmconvert.core.record import Image, Record, Turn, encode_json
from mmconvert.core.rows import Row
from mmconvert.core.text.image_markers import IMAGE, Markers
from mmconvert.io import jsonl
from mmconvert.plugins.format import Context, Format, Sample

MARKERS = Markers(("image", "video", "audio"))
KEYS = ("role", "content")
RESPONSE, LABELS, QUERY = "response", ("labels", "label"), "query"
_GONE = ("image.missing", "image.remote", "image.path")
"""Codes of an image that lies elsewhere: ms-swift writes the paths of the machine that it ran on."""


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    response = fields.pop(RESPONSE, None)
    if not isinstance(response, str):
        raise RowError("prediction.type", RESPONSE, f"expected a text {show(response)}.")
    asked = next((name for name in LABELS if name in fields), LABELS[0])
    label = fields.pop(asked, None)
    answers = _read_labels(label, asked)
    turns, extras = _take_turns(fields, context)
    turns, extras = conversations.take_system_turn(fields, turns, extras)
    turns, images = _load_images(fields, turns, context)
    record = conversations.build_conversation_record(row, context, fields, turns, images, extras)
    yield replace(
        record,
        task=context.task or "vqa",
        answer=answers[0] if answers else None,
        answers=answers,
        label=None if label is None else encode_json(label),
        prediction=response,
    )


def _take_turns(fields: dict[str, Any], context: Context) -> tuple[tuple[Turn, ...], list[dict[str, Any]]]:
    """Take the turns up to the last user's; behind it stands the model's response, or in old files the reference."""
    if QUERY in fields:
        # The response is taken out before, so that nothing is learnt from the row.
        turns = queries.take_exchange({**fields, RESPONSE: " "}, (QUERY, fields.pop(QUERY)), RESPONSE, MARKERS, context)
        fields.pop("history", None)
        return turns[:-1], []
    turns, extras = conversations.read_marked_turns(fields.pop("messages", None), "messages", KEYS, MARKERS)
    last = max((number for number, turn in enumerate(turns) if turn.role == "user"), default=-1)
    if last < 0:
        raise RowError("messages.no_user", "messages", "no message is the user's.")
    return turns[: last + 1], extras[: last + 1]


def _read_labels(value: Any, field: str) -> tuple[str, ...]:
    texts = conversations.as_list(value)
    if any(isinstance(text, bool) or not isinstance(text, str | int | float) for text in texts):
        raise RowError("answer.type", field, f"expected a text or a number {show(value)}.")
    return tuple(map(str, texts))


def _load_images(
    fields: dict[str, Any], turns: tuple[Turn, ...], context: Context
) -> tuple[tuple[Turn, ...], Sequence[Image]]:
    """Load the images that the turns show; a response needs none of them."""
    name, value = queries.take_images(fields)
    turns = conversations.show_unmarked_images(turns, len(conversations.as_list(value)), context)
    try:
        return turns, conversations.load_shown_images(value, name, turns, context)
    except RowError as error:
        if error.code not in _GONE:
            raise
        context.warn("an image is not available; its row is kept without images")
        fields[name] = value
        kept = (tuple(part for part in turn.content if part.type != IMAGE) for turn in turns)
        return tuple(replace(turn, content=parts) for turn, parts in zip(turns, kept, strict=True)), ()


def _find_mismatch(sample: Sample) -> str | None:
    if (reason := sample.find_missing([RESPONSE], "field")) is not None:
        return reason
    if QUERY in sample.columns:
        return sample.find_missing(["history", "label"], "field") or sample.find_clash(("messages",), "field")
    if (reason := sample.find_missing(["messages"], "field")) is not None:
        return reason
    if not all(isinstance(row.get(RESPONSE), str) for row in sample.rows):
        return f"{RESPONSE} is not always a text"
    if "labels" in sample.columns:
        return None
    says = all(_says_last(row.get("messages"), row[RESPONSE]) for row in sample.rows)
    return None if says else f"no field 'labels', and messages do not end with {RESPONSE!r}"


def _says_last(messages: Any, response: str) -> bool:
    last: dict[str, Any] = next(reversed(conversations.list_objects(messages)), {})
    return last.get("role") == "assistant" and last.get("content") == response


FORMAT = Format(
    summary="ms-swift's inference results, infer_result.jsonl",
    suffixes=(".jsonl",),
    rows=jsonl.rows,
    records=_read_records,
    mismatch=_find_mismatch,
    cuttable=True,
)
