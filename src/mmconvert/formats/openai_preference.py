"""OpenAI's preference fine-tuning data: JSON Lines with `input`, `preferred_output` and `non_preferred_output`.

`input` holds the messages of the prompt, and may hold `tools` and `parallel_tool_calls`; both outputs are lists of the
assistant's messages. Images are `image_url` parts. Source: OpenAI's guide to direct preference optimization.

Kept: `tools` and other fields in `extra`, those of a message in `extra.messages_extra`.
Refused: a prompt that does not end with the user (`preference.prompt`), unknown roles and parts (`messages.role`,
`messages.part`), tool calls, files, sounds (`media.unsupported`).
Lost: nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mmconvert.chat.conversations import read_messages
from mmconvert.chat.openai import build_part, read_content, read_message, require_json_lines
from mmconvert.chat.preference import SIDES, build_pair_record, report_lost_scores, select_rows
from mmconvert.chat.training import build_source_id, build_training_rows, read_messages_extra, report_lost_extra
from mmconvert.core.errors import RowError, quote_value, show
from mmconvert.core.record import Image, Record, Turn
from mmconvert.core.rows import Row
from mmconvert.dataset.views import require_pair
from mmconvert.io.row_files import read_rows
from mmconvert.io.write_delimited import write_jsonl
from mmconvert.plugins.format import Context, Format, Loss, Sample, Target

_OUTPUTS = {"preferred_output": "chosen", "non_preferred_output": "rejected"}
_FIELDS = ("input", *_OUTPUTS)
_MESSAGE_FIELDS = ("role", "name", "weight")
_HELD = ("tools", "parallel_tool_calls")
_INPUT = "input_extra"
"""Key in `extra` for what `input` holds beside messages and tools."""


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    given = fields.pop("input", None)
    if not isinstance(given, dict):
        raise RowError("messages.missing", "input", f"expected an object with messages {show(given)}.")
    images: list[Image] = []
    prompt, extras = _read_turns(given.get("messages"), "input.messages", images, context)
    sides = []
    for name, side in _OUTPUTS.items():
        turns, further = _read_turns(fields.pop(name, None), name, images, context)
        sides.append(turns)
        if any(further):
            fields[f"{side}_extra"] = further
    fields |= {name: given[name] for name in _HELD if given.get(name) is not None}
    others = {name: value for name, value in given.items() if name not in ("messages", *_HELD) and value is not None}
    if others:
        fields[_INPUT] = others
    yield build_pair_record(row, context, fields, (prompt, sides[0], sides[1]), images, extras)


def _read_turns(
    value: Any, field: str, images: list[Image], context: Context
) -> tuple[list[Turn], list[dict[str, Any]]]:
    """Read messages as turns with their further fields; their images are added to those before them."""
    turns, extras = [], []
    for number, message in enumerate(read_messages(value, field)):
        where = f"{field}[{number}]"
        role, content, extra = read_message(message, where)
        parts, shown = read_content(content, where, len(images), context)
        turns.append(Turn(role, parts))
        images += shown
        extras.append(extra)
    return turns, extras


def _find_mismatch(sample: Sample) -> str | None:
    if missing := sample.find_missing(_FIELDS, "field"):
        return missing
    return None if all(isinstance(row.get("input"), dict) for row in sample.rows) else "input is not an object"


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    require_json_lines(target)
    losses: list[Loss] = []
    pairs = select_rows(records, losses, paired=True)
    rows = build_training_rows(
        pairs, losses, lambda record: {}, addresses=True, pair=lambda record: _build_fields(record, target, losses)
    )
    write_jsonl(rows, target.path)
    yield from dict.fromkeys(losses)


def _build_fields(record: Record, target: Target, losses: list[Loss]) -> dict[str, Any]:
    pair = require_pair(record)
    for side in SIDES:
        if any(turn.role != "assistant" for turn in getattr(pair, side)):
            raise RowError("target.role", side, "OpenAI takes only assistant turns in a response.")
    images = iter(record.images)
    inline = Target(target.path)

    def build(turns: Iterable[Turn], extras: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        messages = []
        for turn, more in zip(turns, extras, strict=True):
            content: Any = [build_part(part, images, inline) for part in turn.content]
            if len(content) == 1 and content[0]["type"] == "text":
                content = content[0]["text"]
            for name in more:
                if name not in _MESSAGE_FIELDS:
                    losses.append(Loss(record.id, "messages_extra", f"OpenAI has no {quote_value(name)}"))
            kept = {name: value for name, value in more.items() if name in _MESSAGE_FIELDS}
            messages.append({"role": turn.role, "content": content, **kept})
        return messages

    prompt = build(record.messages, read_messages_extra(record))
    outputs = {name: build(getattr(pair, side), _read_extras(record, side)) for name, side in _OUTPUTS.items()}
    if build_source_id(record):
        losses.append(Loss(record.id, "id", "the format has no field for it"))
    sides = [f"{side}_extra" for side in SIDES]
    report_lost_extra(record, losses, kept=("messages_extra", *sides, *_HELD, _INPUT))
    report_lost_scores(record, losses)
    further = record.extra.get(_INPUT)
    held = dict(further) if isinstance(further, dict) else {}
    held |= {name: record.extra[name] for name in _HELD if name in record.extra}
    return {"input": {"messages": prompt, **held}, **outputs}


def _read_extras(record: Record, side: str) -> Sequence[Mapping[str, Any]]:
    """Give the further fields of each message of a side, {} for a turn that the source did not have."""
    turns = getattr(record.preference, side)
    extras = record.extra.get(f"{side}_extra")
    known = [more if isinstance(more, dict) else {} for more in extras] if isinstance(extras, list) else []
    return [*known, *({} for _ in turns)][: len(turns)]


FORMAT = Format(
    summary="OpenAI preference fine-tuning data",
    suffixes=(".jsonl", ".json"),
    rows=read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    cuttable=True,
    images=("inline",),
    pairs=True,
)
