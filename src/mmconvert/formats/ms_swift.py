"""ms-swift training data: `messages`, or `conversation(s)`, or `query`, `response` and `history`, with `images`.

Content is one text; `<image>` stands for the next of the row's `images` (path, data URL or address), `<video>` for the
next of its `videos`. Images and videos without one stand in front of the first message, as ms-swift itself puts them.
`conversation` (or `conversations`) holds pairs of `human` and `assistant`, or turns as `messages` does, with role or
from, content or value. `query` is the user's last turn and `response` the assistant's, `history` lists the pairs
before it (in a table as text), `<img>path</img>` in these texts is an image too; a row without `response` is a prompt
that ends with the user's turn. `system` (or `system_prompt`) is a turn in all forms. A file of `query` and `response`
alone may as well hold a model's predictions: give `--format ms_swift`. Written are `messages`. What stands behind the
last user is the chosen response of a row with `rejected_response` (a text, or the turns in its place),
`rejected_messages` (the whole conversation) or `rejected_images`. Source: modelscope/ms-swift@3602360
docs/source_en/Customization/Custom-dataset.md, swift/dataset/preprocessor/core.py.

Kept: `objects`, `label` and other fields in `extra`, those of a message in `extra.messages_extra`.
Refused: more `<image>` than images (`placeholder.count`), a history that is not a list of pairs (`history.type`), tool
calls, sounds, videos without `--frames` (`media.unsupported`), a rejected conversation with another prompt
(`preference.prompt`).
Lost: which of the forms a row had.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from mmconvert.chat import conversations, queries
from mmconvert.chat.conversations import MESSAGES_EXTRA
from mmconvert.chat.export_images import store_image
from mmconvert.chat.preference import SIDES, build_pair_record, list_scores
from mmconvert.chat.training import (
    add_extra_fields,
    build_message_rows,
    build_source_id,
    build_training_rows,
    read_messages_extra,
)
from mmconvert.chat.videos import VIDEOS, load_frames, take_videos
from mmconvert.core.errors import RowError, UsageError, in_field, show
from mmconvert.core.record import Image, Part, Record, Turn, keep_chosen
from mmconvert.core.rows import Row
from mmconvert.core.text.image_markers import IMAGE, VIDEO, Markers, check_count
from mmconvert.core.text.literals import looks_like_list, parse_list
from mmconvert.dataset.views import is_tie
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
_REJECTED = ("rejected_response", "rejected_messages", "rejected_images")


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    videos = take_videos(fields, context)
    sampled = context.images.sampling is not None
    rejected = {name: fields.pop(name) for name in _REJECTED if fields.get(name) is not None}
    form = next((name for name in MESSAGES if fields.get(name) is not None), None)
    extras: list[dict[str, Any]] = []
    if form is not None or QUERY not in fields:
        turns, extras = _read_messages(fields.pop(form or MESSAGES[0], None), form or MESSAGES[0], sampled)
    else:
        turns = queries.take_exchange(fields, (QUERY, fields.pop(QUERY)), RESPONSE, MARKERS, context)
    if not fields.get("system"):
        fields["system"] = fields.pop(SYSTEM, None)
    turns, extras = conversations.take_system_turn(fields, turns, extras)
    name, value = queries.take_images(fields)
    turns = conversations.show_unmarked_images(turns, len(conversations.as_list(value)), context)
    turns = _show_unmarked_videos(turns, len(videos), context)
    if form is not None:
        turns, images = conversations.load_shown_media(value, name, videos, turns, context)
    else:
        turns, images = _load_media(turns, value, name, videos, context)
    if rejected:
        extras = extras or [{} for _ in turns]
        yield _read_pair(row, context, fields, turns, images, extras, rejected)
    else:
        yield conversations.build_conversation_record(row, context, fields, turns, images, extras)


def _read_pair(
    row: Row,
    context: Context,
    fields: dict[str, Any],
    turns: Sequence[Turn],
    images: Sequence[Image],
    extras: Sequence[Mapping[str, Any]],
    rejected: Mapping[str, Any],
) -> Record:
    """Make the record of a row with a rejected side.

    Args:
        row: The raw row.
        context: What is known beside it.
        fields: What is left of its fields.
        turns: Those of `messages`, the chosen response among them.
        images: Their images.
        extras: Further fields of each message.
        rejected: Those of `_REJECTED` that the row has.

    Raises:
        RowError: `preference.prompt`: the two sides answer other prompts; the codes of reading turns and images.
    """
    cut = _find_response(turns)
    prompt, chosen = turns[:cut], turns[cut:]
    other = _read_rejected_turns(rejected, turns, cut, context)
    shown = conversations.count_image_parts(prompt)
    seen = images
    if (value := rejected.get("rejected_images")) is not None:
        seen = conversations.load_shown_images(value, "rejected_images", (*prompt, *other), context)
    needed = shown + conversations.count_image_parts(other)
    check_count(needed, len(seen), "rejected_images" if value is not None else "images")
    same = [image.sha256 for image in seen[:shown]] == [image.sha256 for image in images[:shown]]
    every_image = (*images, *seen[shown:])
    others = () if same else seen[:shown]
    if any(extras[cut:]):
        fields["chosen_extra"] = [dict(more) for more in extras[cut:]]
    return build_pair_record(row, context, fields, (prompt, chosen, other), every_image, extras[:cut], others)


def _find_response(turns: Sequence[Turn]) -> int:
    """Give the place behind the last user, where the response begins."""
    users = [number for number, turn in enumerate(turns) if turn.role == "user"]
    return users[-1] + 1 if users else 0


def _read_rejected_turns(
    rejected: Mapping[str, Any], turns: Sequence[Turn], cut: int, context: Context
) -> Sequence[Turn]:
    """Read the turns of the rejected response; those of the chosen one where only its images differ."""
    if (value := rejected.get("rejected_messages")) is not None:
        whole, _ = conversations.read_marked_turns(value, "rejected_messages", KEYS, MARKERS)
        if turns[0].role == "system" and whole[0].role != "system":
            whole = (turns[0], *whole)
        if not conversations.count_image_parts(whole) and conversations.count_image_parts(turns[:cut]):
            whole = conversations.show_unmarked_images(whole, conversations.count_image_parts(turns[:cut]), context)
        if tuple(whole[:cut]) != tuple(turns[:cut]):
            message = "the rejected conversation has another prompt than the chosen one."
            raise RowError("preference.prompt", "rejected_messages", message)
        return whole[cut:]
    value = rejected.get("rejected_response")
    if value is None:
        return turns[cut:]
    if isinstance(value, str):
        value = [{"role": "assistant", "content": value}]
    return conversations.read_marked_turns(value, "rejected_response", KEYS, MARKERS)[0]


def _read_messages(value: Any, field: str, videos: bool) -> tuple[tuple[Turn, ...], list[dict[str, Any]]]:
    if isinstance(value, str) and looks_like_list(value):
        with in_field(field):
            value = parse_list(value)
    messages = conversations.read_messages(value, field)
    if _is_pair(messages[0]):
        return _read_pairs(messages, field, videos)
    keys = _find_keys(messages[0])
    known = [{**one, keys[0]: "assistant"} if one.get(keys[0]) == "bot" else one for one in messages]
    return conversations.read_marked_turns(known, field, keys, MARKERS, videos=videos)


def _find_keys(message: Mapping[str, Any]) -> tuple[str, str]:
    """Find the keys of role and text."""
    return "from" if "from" in message else "role", "value" if "value" in message else "content"


def _is_pair(message: Mapping[str, Any]) -> bool:
    """Tell a question with its response from a turn."""
    return message.keys().isdisjoint(("role", "from", "content", "value"))


def _read_pairs(
    pairs: Sequence[Mapping[str, Any]], field: str, videos: bool
) -> tuple[tuple[Turn, ...], list[dict[str, Any]]]:
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
    return conversations.read_marked_turns(messages, field, KEYS, MARKERS, videos=videos)


def _show_unmarked_videos(turns: tuple[Turn, ...], count: int, context: Context) -> tuple[Turn, ...]:
    missing = count - conversations.count_image_parts(turns, VIDEO)
    if missing <= 0:
        return turns
    context.warn("videos without a <video> of their own come before the first message")
    return conversations.put_in_front(turns, VIDEO, missing)


def _load_media(
    turns: tuple[Turn, ...], value: Any, field: str, videos: Sequence[tuple[str, Any]], context: Context
) -> tuple[tuple[Turn, ...], tuple[Image, ...]]:
    """Load listed images and videos and images that stand in the texts, in reading order."""
    listed = conversations.list_elements(value, field)
    check_count(conversations.count_image_parts(turns), len(listed), field)
    check_count(conversations.count_image_parts(turns, VIDEO), len(videos), VIDEOS[0], VIDEO)
    left, clips = iter(listed), iter(videos)
    images: list[Image] = []
    made: list[Turn] = []
    for turn in turns:
        parts: list[Part] = []
        for part in turn.content:
            if part.type == VIDEO:
                place, item = next(clips)
                with in_field(place):
                    frames = load_frames(item, len(images) + 1, context)
                images += frames
                parts += [Part(IMAGE)] * len(frames)
                continue
            if part.type == IMAGE:
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
                    parts.append(Part(IMAGE))
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
    if clash := sample.find_clash(SIDES, "field"):
        return clash
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
    paired = any(name in sample.columns for name in _REJECTED)
    if sample.suffix != ".jsonl" and not (sample.suffix == ".json" and (paired or "image" in sample.columns)):
        return "messages are in a file that is not JSON Lines"
    if clash := sample.find_clash(SIDES, "field"):
        return clash
    if any(row.get("messages") is not None and row.get(RESPONSE) is not None for row in sample.rows):
        return f"it has a field {RESPONSE!r} beside messages"
    if not paired and not any(name in sample.columns for name in (*queries.IMAGES, *VIDEOS)):
        return "no field 'images' or 'videos'"
    if not all(isinstance(one.get("content"), str) for one in messages):
        return "content is not always a text"
    if not paired and not any(f"<{word}>" in one["content"] for one in messages for word in (IMAGE, VIDEO)):
        return "no text has an <image> or <video>"
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
    build, build_pair = partial(_build_fields, target, losses), partial(_build_pair_fields, target, losses)
    rows = build_training_rows(records, losses, build, addresses=True, pair=build_pair, first_row=target.first_row)
    write_jsonl(rows, target.path)
    yield from dict.fromkeys(losses)


def _build_pair_fields(target: Target, losses: list[Loss], record: Record) -> dict[str, Any]:
    pair = record.preference
    if pair is None:
        return _build_fields(target, losses, record)
    if is_tie(record):
        losses.append(Loss(record.id, "preference", "ms-swift deletes a row whose responses are alike"))
    further = record.extra.get("chosen_extra")
    extras = [*read_messages_extra(record), *(further if isinstance(further, list) else [])]
    extra = {name: value for name, value in record.extra.items() if name not in (MESSAGES_EXTRA, "chosen_extra")}
    if any(extras):
        extra[MESSAGES_EXTRA] = extras
    shown = conversations.count_image_parts(record.messages)
    chosen = replace(keep_chosen(record), extra=extra, attachments=())
    images = record.images[len(chosen.images) :]
    fields = _build_fields(target, losses, chosen)
    rejected = build_message_rows(replace(record, messages=pair.rejected, extra={}), KEYS, NAMES, MARKERS)
    fields["rejected_response"] = rejected[0]["content"] if len(rejected) == 1 else rejected
    if pair.rejected_images or images or len(chosen.images) > shown:
        seen = [record.attachments[place] for place in pair.rejected_images] or record.images[:shown]
        fields["rejected_images"] = [store_image(image, target) for image in (*seen, *images)]
    return {**fields, **list_scores(record)}


def _build_fields(target: Target, losses: list[Loss], record: Record) -> dict[str, Any]:
    fields: dict[str, Any] = {**build_source_id(record), "messages": build_message_rows(record, KEYS, NAMES, MARKERS)}
    if record.images:
        fields["images"] = [store_image(image, target) for image in record.images]
    return add_extra_fields(fields, record, losses, (*queries.IMAGES, *_REJECTED, "system", SYSTEM))


FORMAT = Format(
    summary="ms-swift training data",
    suffixes=(".jsonl", ".json", ".csv", ".parquet"),
    rows=read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    splittable=True,
    cuttable=True,
    images=IMAGES,
    pairs=True,
    videos=True,
)
