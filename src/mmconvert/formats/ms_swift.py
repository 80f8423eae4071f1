"""ms-swift training data: `messages`, or `conversation(s)`, or `query`, `response` and `history`, with `images`.

Content is one text; `<image>` stands for the next of the row's `images` (path, data URL or address). Images without
one stand in front of the first message, as ms-swift itself puts them. `conversation` (or `conversations`) holds pairs
of `human` and `assistant`, or turns as `messages` does, with role or from, content or value. `query` is the user's
last turn and `response` the assistant's, `history` lists the pairs before it (in a table as text), `<img>path</img>`
in these texts is an image too; a row without `response` is a prompt that ends with the user's turn. `system` (or
`system_prompt`) is a turn in all forms. A file of `query` and `response` alone may as well hold a model's predictions:
give `--format ms_swift`. Written are `messages`. Source: modelscope/ms-swift@3602360
docs/source_en/Customization/Custom-dataset.md, swift/dataset/preprocessor/core.py.

Kept: `objects`, `rejected_response` and other fields in `extra`, those of a message in `extra.messages_extra`.
Refused: more `<image>` than images (`placeholder.count`), a history that is no list of pairs (`history.type`), tool
calls, videos, sounds (`media.unsupported`).
Lost: which of the forms a row had.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from mmconvert.chat import conversations, queries
from mmconvert.chat.export_images import store_image
from mmconvert.chat.training import add_extra_fields, build_message_rows, build_source_id, build_training_rows
from mmconvert.core.errors import RowError, UsageError, in_field, show
from mmconvert.core.record import Image, Part, Record, Turn
from mmconvert.core.rows import Row
from mmconvert.core.text.image_markers import Markers, check_count
from mmconvert.core.text.literals import looks_like_list, parse_list
from mmconvert.io.row_files import read_rows
from mmconvert.io.write_delimited import write_jsonl
from mmconvert.plugins.format import IMAGES, Context, Format, Loss, Sample, Target

MARKERS = Markers(("image", "video", "audio"))
KEYS = ("role", "content")
NAMES = {"system": "system", "user": "user", "assistant": "assistant"}
MESSAGES = ("messages", "conversation", "conversations")
"""Fields of whole conversations; the first that is there counts."""

SPEAKERS = {"user": ("human", "user"), "assistant": ("assistant", "gpt", "bot")}
"""Role of a turn -> keys of a pair."""

QUERY, RESPONSE, SYSTEM = "query", "response", "system_prompt"
TELLING = ("history", "system", SYSTEM, "images")
"""Fields of which one at least tells a query and its response from a question and a model's prediction."""

OTHERS = (
    *("chosen", "rejected", "question", "instruction", "prediction", "output", "answer", "answers", "label", "target"),
    *("ground_truth", "solution", "options", "choices"),
)
"""Fields of other forms, and of questions with their references."""

_INLINE = re.compile(r"<img>([^<>\n]+)</img>")


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    conversations.refuse_media(fields)
    form = next((name for name in MESSAGES if fields.get(name) is not None), None)
    extras: list[dict[str, Any]] = []
    if form is not None or QUERY not in fields:
        turns, extras = _read_messages(fields.pop(form or MESSAGES[0], None), form or MESSAGES[0])
    else:
        turns = queries.take_exchange(fields, (QUERY, fields.pop(QUERY)), RESPONSE, MARKERS, context)
    if not fields.get("system"):
        fields["system"] = fields.pop(SYSTEM, None)
    turns, extras = conversations.take_system_turn(fields, turns, extras)
    name, value = queries.take_images(fields)
    turns = conversations.show_unmarked_images(turns, len(conversations.as_list(value)), context)
    if form is not None:
        images = conversations.load_shown_images(value, name, turns, context)
    else:
        turns, images = _load_images(turns, value, name, context)
    yield conversations.build_conversation_record(row, context, fields, turns, images, extras)


def _read_messages(value: Any, field: str) -> tuple[tuple[Turn, ...], list[dict[str, Any]]]:
    if isinstance(value, str) and looks_like_list(value):
        with in_field(field):
            value = parse_list(value)
    messages = conversations.read_messages(value, field)
    if _is_pair(messages[0]):
        return _read_pairs(messages, field)
    keys = _find_keys(messages[0])
    known = [{**one, keys[0]: "assistant"} if one.get(keys[0]) == "bot" else one for one in messages]
    return conversations.read_marked_turns(known, field, keys, MARKERS)


def _find_keys(message: Mapping[str, Any]) -> tuple[str, str]:
    """Find the keys of role and text."""
    return "from" if "from" in message else "role", "value" if "value" in message else "content"


def _is_pair(message: Mapping[str, Any]) -> bool:
    """Tell a question with its response from a turn."""
    return message.keys().isdisjoint(("role", "from", "content", "value"))


def _read_pairs(pairs: Sequence[Mapping[str, Any]], field: str) -> tuple[tuple[Turn, ...], list[dict[str, Any]]]:
    messages: list[dict[str, Any]] = []
    for number, pair in enumerate(pairs):
        left = dict(pair)
        for role, words in SPEAKERS.items():
            key = next((word for word in words if word in pair), words[0])
            text = left.pop(key, None)
            if not isinstance(text, str):
                raise RowError("messages.content", f"{field}[{number}].{key}", f"expected a text {show(text)}.")
            messages.append({"role": role, "content": text})
        messages[-2] |= left
    return conversations.read_marked_turns(messages, field, KEYS, MARKERS)


def _load_images(
    turns: tuple[Turn, ...], value: Any, field: str, context: Context
) -> tuple[tuple[Turn, ...], tuple[Image, ...]]:
    """Load listed images and those that stand in the texts, in reading order."""
    listed = conversations.list_elements(value, field)
    check_count(conversations.count_image_parts(turns), len(listed), field)
    left = iter(listed)
    images: list[Image] = []
    made: list[Turn] = []
    for turn in turns:
        parts: list[Part] = []
        for part in turn.content:
            if part.type == "image":
                place, item = next(left)
                with in_field(place):
                    images.append(conversations.load_image(item, len(images) + 1, context))
                parts.append(part)
                continue
            # Every second piece is what stands between the two tags.
            pieces = _INLINE.split(part.text) if turn.role != "system" else [part.text]
            for number, piece in enumerate(pieces):
                if number % 2:
                    with in_field(QUERY):
                        images.append(conversations.load_image(piece, len(images) + 1, context))
                    parts.append(Part("image"))
                elif piece or len(pieces) == 1:
                    parts.append(Part("text", piece))
        made.append(replace(turn, content=tuple(parts)))
    return tuple(made), tuple(images)


def _find_mismatch(sample: Sample) -> str | None:
    form = next((name for name in MESSAGES if name in sample.columns), None)
    if form is None:
        return _find_query_mismatch(sample)
    messages = [one for row in sample.rows for one in conversations.list_objects(row.get(form))]
    if form == "messages":
        return _find_messages_mismatch(sample, messages)
    if sample.find_clash(("chosen", "rejected"), "field") is not None:
        return sample.find_clash(("chosen", "rejected"), "field")
    if not messages:
        return f"{form} holds no turns"
    if all(map(_is_pair, messages)):
        speaks = all(any(key in one for key in words) for one in messages for words in SPEAKERS.values())
        return None if speaks else f"no {' and '.join(words[0] for words in SPEAKERS.values())} in {form}"
    keys = _find_keys(messages[0])
    if form == "conversations" and keys != KEYS:
        return "conversations of from and value are LLaVA's, Qwen's and LLaMA-Factory's form"
    return None if all(isinstance(one.get(keys[1]), str) for one in messages) else f"{keys[1]} is not always a text"


def _find_messages_mismatch(sample: Sample, messages: Sequence[Mapping[str, Any]]) -> str | None:
    if sample.suffix != ".jsonl":
        return "messages stand in a file that is no JSON Lines"
    if not any(name in sample.columns for name in queries.IMAGES):
        return "no field 'images'"
    if not all(isinstance(one.get("content"), str) for one in messages):
        return "content is not always a text"
    if not any("<image>" in one["content"] for one in messages):
        return "no text has an <image>"
    return None


def _find_query_mismatch(sample: Sample) -> str | None:
    reason = sample.find_missing([QUERY], "field 'messages' or") or sample.find_clash(OTHERS, "field")
    if reason is not None:
        return reason
    texts = [row.get(QUERY) for row in sample.rows]
    if not all(text is None or isinstance(text, str) for text in texts):
        return f"{QUERY} is not always a text"
    shows = any(_INLINE.search(text) or "<image>" in text for text in texts if text)
    if shows or any(name in sample.columns for name in TELLING):
        return None
    if RESPONSE not in sample.columns:
        return f"no field {', '.join(map(repr, TELLING))} beside {QUERY!r}"
    return f"{QUERY} and {RESPONSE} alone may be predictions; --format ms_swift reads them as training data"


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    if target.path.suffix.lower() != ".jsonl":
        raise UsageError("the format is written to .jsonl; other files are only read.")
    losses: list[Loss] = []
    rows = build_training_rows(records, losses, lambda record: _build_fields(record, target, losses), addresses=True)
    write_jsonl(rows, target.path)
    yield from dict.fromkeys(losses)


def _build_fields(record: Record, target: Target, losses: list[Loss]) -> dict[str, Any]:
    fields: dict[str, Any] = {**build_source_id(record), "messages": build_message_rows(record, KEYS, NAMES, MARKERS)}
    if record.images:
        fields["images"] = [store_image(image, target) for image in record.images]
    return add_extra_fields(fields, record, losses, (*queries.IMAGES, "system", SYSTEM))


FORMAT = Format(
    summary="ms-swift training data",
    suffixes=(".jsonl", ".json", ".csv", ".parquet"),
    rows=read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    cuttable=True,
    images=IMAGES,
)
