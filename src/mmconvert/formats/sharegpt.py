"""LLaMA-Factory's ShareGPT form: `messages` or `conversations` and `images`, with its dataset_info.json.

`<image>` stands for the next of the row's `images` (paths from the file's folder, or pictures in parquet), `<video>`
for the next of its `videos`; a row's turns must alternate after an optional system turn. Writing adds or replaces the
file's entry in the dataset_info.json beside it. Source: hiyouga/LLaMA-Factory@ff6d4d1 data/README.md,
src/llamafactory/data/{parser,converter,mm_plugin}.py.

Kept: `id` as `sample`, other fields in `extra`, those of a message in `extra.messages_extra`.
Refused: more or fewer `<image>` than pictures (`placeholder.count`), tool calls, sounds, videos without `--frames`
(`media.unsupported`).
Lost: the dataset_info.json beside the file, which is not read.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mmconvert.chat import conversations, training
from mmconvert.chat.export_images import write_image_path
from mmconvert.chat.videos import take_videos
from mmconvert.core.errors import Error, RowError, UsageError, show
from mmconvert.core.record import Record
from mmconvert.core.rows import MOST_ROW_BYTES, Rejected, Row, Span
from mmconvert.core.text.image_markers import Markers
from mmconvert.core.text.json import parse_json
from mmconvert.io import json_array, jsonl, parquet
from mmconvert.io.write_delimited import write_rows
from mmconvert.plugins.format import Context, Format, Loss, Sample, Target
from mmconvert.storage.atomic import open_published_file

MARKERS = Markers(("image", "video", "audio"))
FORMS = {"messages": ("role", "content"), "conversations": ("from", "value")}
"""Field of the turns -> keys of role and text in each."""

NAMES = {
    "messages": {"system": "system", "user": "user", "assistant": "assistant"},
    "conversations": {"system": "system", "user": "human", "assistant": "gpt"},
}
INFO = "dataset_info.json"


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return parquet.rows(path, span)
    return jsonl.rows(path, span) if suffix == ".jsonl" else json_array.rows(path, span)


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    videos = take_videos(fields, context)
    sampled = context.pictures.sampling is not None
    form = "messages" if "messages" in fields else "conversations"
    turns, extras = conversations.read_marked_turns(fields.pop(form, None), form, FORMS[form], MARKERS, videos=sampled)
    turns, extras = conversations.take_system_turn(fields, turns, extras)
    turns, images = conversations.load_shown_media(fields.pop("images", None), "images", videos, turns, context)
    yield conversations.build_conversation_record(row, context, fields, turns, images, extras)


def _find_mismatch(sample: Sample) -> str | None:
    form = next((name for name in FORMS if name in sample.columns), None)
    if form is None:
        return "no field 'messages' or 'conversations'"
    if "image" in sample.columns:
        return "it has a field 'image', not 'images'"
    if "video" in sample.columns and "images" not in sample.columns and sample.suffix != ".parquet":
        return "it has a field 'video', not 'videos'"
    role_key, text_key = FORMS[form]
    turns = [turn for row in sample.rows for turn in conversations.list_objects(row.get(form))]
    if not all(isinstance(turn.get(text_key), str) for turn in turns):
        return f"{text_key} is not always a text"
    if form == "conversations":
        return "turns are from 'user', not 'human'" if any(turn.get(role_key) == "user" for turn in turns) else None
    marked = "images" in sample.columns and any("<image>" in turn[text_key] for turn in turns)
    fits = sample.suffix == ".json" or (sample.suffix == ".parquet" and marked)
    return None if fits else "messages stand in JSON Lines or parquet without <image>"


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    if target.path.suffix.lower() == ".parquet":
        raise UsageError("the format is written to .json or .jsonl; parquet is only read.")
    form = target.columns or "messages"
    losses: list[Loss] = []
    rows = training.build_training_rows(records, losses, lambda record: _build_fields(record, form, target, losses))
    write_rows(lambda: rows, target)
    _add_to_info(target, form)
    yield from dict.fromkeys(losses)


def _build_fields(record: Record, form: str, target: Target, losses: list[Loss]) -> dict[str, Any]:
    has_system = record.messages[0].role == "system"
    training.require_alternation(record.messages[1:] if has_system else record.messages)
    fields: dict[str, Any] = {
        **training.build_source_id(record),
        form: training.build_message_rows(record, FORMS[form], NAMES[form], MARKERS),
        "images": [write_image_path(image, target) for image in record.images],
    }
    return training.add_extra_fields(fields, record, losses, (*FORMS, "images", "system"))


def _add_to_info(target: Target, form: str) -> None:
    """Add the file to LLaMA-Factory's list of data sets, which lies beside it."""
    path = target.path.with_name(INFO)
    name = target.name or target.path.name
    role_key, text_key = FORMS[form]
    names = NAMES[form]
    known = _list_known_sets(path)
    # Columns that an entry does not list count as absent, so all are named.
    known[Path(name).stem] = {
        "file_name": name,
        "formatting": "sharegpt",
        "columns": {"messages": form, "images": "images"},
        "tags": {
            "role_tag": role_key,
            "content_tag": text_key,
            "user_tag": names["user"],
            "assistant_tag": names["assistant"],
            "system_tag": names["system"],
        },
    }
    with open_published_file(path) as temporary:
        temporary.write_text(json.dumps(known, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _list_known_sets(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            known = parse_json(file.read(MOST_ROW_BYTES).decode())
    except FileNotFoundError:
        return {}
    except (UnicodeDecodeError, RowError) as error:
        raise Error(f"{path}: is no JSON ({error}). Repair it, or export to another folder.") from None
    if not isinstance(known, dict):
        raise Error(f"{path}: expected an object of data sets {show(known)}. Export to another folder.")
    return known


FORMAT = Format(
    summary="LLaMA-Factory ShareGPT data with its dataset_info.json",
    suffixes=(".json", ".jsonl", ".parquet"),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    cuttable=True,
    columns=tuple(FORMS),
    images=("files", "original"),
    videos=True,
)
