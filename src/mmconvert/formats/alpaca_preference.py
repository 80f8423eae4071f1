"""Preference pairs in LLaMA-Factory's Alpaca form: `instruction`, `input`, `chosen` and `rejected`, all texts.

The prompt is the instruction and, behind a line break, the input; `system` and `history` (pairs of texts) stand before
it, `<image>` for the next of the row's `images`. Source: hiyouga/LLaMA-Factory@ff6d4d1 data/README.md,
src/llamafactory/data/converter.py (AlpacaDatasetConverter, ranking).

Kept: other fields in `extra`.
Refused: rows whose sides are no texts (`messages.content`), more or fewer `<image>` than pictures
(`placeholder.count`), videos, sounds (`media.unsupported`).
Lost: where the instruction ended and the input began.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from mmconvert.chat import conversations
from mmconvert.chat.preference import SIDES, build_pair_record, holds_sides
from mmconvert.core.errors import RowError, in_field, show
from mmconvert.core.record import Record, Turn
from mmconvert.core.rows import Row
from mmconvert.core.text.image_markers import Markers, split_at_markers
from mmconvert.io.row_files import read_rows
from mmconvert.plugins.format import Context, Format, Sample

_MARKERS = Markers(("image", "video", "audio"))
_IMAGES = ("images", "image")


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


FORMAT = Format(
    summary="Preference pairs in Alpaca form: instruction, input, chosen, rejected",
    suffixes=(".json", ".jsonl", ".parquet"),
    rows=read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    cuttable=True,
)
