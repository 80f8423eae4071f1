"""Preference pairs in LLaMA-Factory's Alpaca form: `instruction`, `input`, `chosen` and `rejected`, all texts.

The prompt is the instruction and, behind a line break, the input; `system` and `history` (pairs of texts) stand before
it, `<image>` for the next of the row's `images`; writing adds the file to the `dataset_info.json` beside it. Source:
hiyouga/LLaMA-Factory@ff6d4d1 data/README.md, src/llamafactory/data/converter.py (AlpacaDatasetConverter, ranking).

Kept: other fields in `extra`.
Refused: rows whose sides are no texts (`messages.content`), more or fewer `<image>` than images
(`placeholder.count`), videos, sounds (`media.unsupported`).
Lost: where the instruction ended and the input began.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from mmconvert.chat import conversations, training
from mmconvert.chat.dataset_info import add_to_dataset_info
from mmconvert.chat.export_images import write_image_path
from mmconvert.chat.preference import SIDES, build_pair_record, holds_sides, report_lost_scores, select_rows
from mmconvert.core.errors import RowError, UsageError, in_field, show
from mmconvert.core.record import SCORES, Record, Turn
from mmconvert.core.rows import Row
from mmconvert.core.text.image_markers import Markers, join_with_markers, split_at_markers
from mmconvert.dataset.views import require_pair, split_pair
from mmconvert.io.row_files import read_rows
from mmconvert.io.write_delimited import write_rows
from mmconvert.plugins.format import Context, Format, Loss, Sample, Target

_MARKERS = Markers(("image", "video", "audio"))
_IMAGES = ("images", "image")
_INFO = {
    "ranking": True,
    "columns": {
        "prompt": "instruction",
        "query": "input",
        **{name: name for name in (*SIDES, "system", "history", "images")},
    },
}
"""What LLaMA-Factory's list of data sets says of a file that is written."""


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    conversations.refuse_media(fields)
    turns = list(_read_history(fields.pop("history", None)))
    asked = [_take_text(fields, name) for name in ("instruction", "input")]
    turns.append(_build_turn("user", "\n".join(text for text in asked if text), "instruction"))
    prompt, extras = conversations.take_system_turn(fields, tuple(turns), [{} for _ in turns])
    chosen, rejected = ((_build_turn("assistant", _require_text(fields, name), name),) for name in SIDES)
    name = next((name for name in _IMAGES if conversations.as_list(fields.get(name))), _IMAGES[0])
    images = conversations.load_shown_images(fields.pop(name, None), name, (*prompt, *chosen, *rejected), context)
    yield build_pair_record(row, context, fields, (prompt, chosen, rejected), images, extras)


def _read_history(value: Any) -> Iterator[Turn]:
    for number, pair in enumerate(conversations.as_list(value)):
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):
            raise RowError("messages.content", f"history[{number}]", f"expected two texts {show(pair)}.")
        yield _build_turn("user", pair[0], f"history[{number}]")
        yield _build_turn("assistant", pair[1], f"history[{number}]")


def _build_turn(role: str, text: str, field: str) -> Turn:
    with in_field(field):
        return Turn(role, split_at_markers(text, _MARKERS))


def _take_text(fields: dict[str, Any], name: str) -> str:
    value = fields.pop(name, None)
    if value is not None and not isinstance(value, str):
        raise RowError("messages.content", name, f"expected a text {show(value)}.")
    return value or ""


def _require_text(fields: dict[str, Any], name: str) -> str:
    value = fields.pop(name, None)
    if not isinstance(value, str):
        raise RowError("messages.content", name, f"expected a text {show(value)}.")
    return value


def _find_mismatch(sample: Sample) -> str | None:
    if missing := sample.find_missing(("instruction", *SIDES), "field"):
        return missing
    if clash := sample.find_clash(("messages", "conversations", "question", "image_info"), "field"):
        return clash
    return None if holds_sides(sample, str) else "chosen and rejected are not always texts"


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    if target.path.suffix.lower() not in (".json", ".jsonl"):
        raise UsageError("the format is written to .json or .jsonl; parquet is only read.")
    losses: list[Loss] = []
    rows = training.build_training_rows(
        select_rows(records, losses, paired=True),
        losses,
        lambda record: {},
        pair=lambda record: _build_fields(record, target, losses),
    )
    write_rows(lambda: rows, target)
    add_to_dataset_info(target, _INFO)
    yield from dict.fromkeys(losses)


def _build_fields(record: Record, target: Target, losses: list[Loss]) -> dict[str, Any]:
    record = split_pair(record)
    report_lost_scores(record, losses)
    pair = require_pair(record)
    first = record.messages[0]
    turns = record.messages[1:] if first.role == "system" else record.messages
    system = "".join(part.text for part in first.content) if first.role == "system" else ""
    if first.role == "system" and any(part.type == "image" for part in first.content):
        raise RowError("target.role", "messages", "an image is in the system turn, where the format allows only text.")
    if first.role == "system" and not system:
        losses.append(Loss(record.id, "messages", "an empty system turn is dropped: the form takes it for none"))
    for turns_of_side in (pair.chosen, pair.rejected):
        training.require_alternation((*turns, *turns_of_side))
    for more in training.read_messages_extra(record):
        losses += [Loss(record.id, name, "the format has no fields of single messages", remark=True) for name in more]
    texts = [join_with_markers(turn.content, _MARKERS) for turn in turns]
    fields: dict[str, Any] = {
        **training.build_source_id(record),
        "instruction": texts[-1],
        "input": "",
        "chosen": join_with_markers(pair.chosen[0].content, _MARKERS),
        "rejected": join_with_markers(pair.rejected[0].content, _MARKERS),
        "system": system,
        "history": [texts[at : at + 2] for at in range(0, len(texts) - 1, 2)],
        "images": [write_image_path(image, target) for image in record.images],
    }
    return training.add_extra_fields(fields, record, losses, (*fields, "image", "videos", "audios", *SCORES))


FORMAT = Format(
    summary="Preference pairs in Alpaca form: instruction, input, chosen, rejected",
    suffixes=(".json", ".jsonl", ".parquet"),
    rows=read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    cuttable=True,
    pairs=True,
    images=("files", "original"),
)
