r"""verl's RL prompts: parquet with `data_source`, `prompt`, `images`, `ability`, `reward_model` and `extra_info`.

Content is one text; `<image>` stands for the next of the row's `images`. `reward_model.ground_truth` is what a rule
compares with: the letter of a choice, else the first reference. Written are prompts alone: a response that ends the
turns is the reference where there is no other. `extra_info` tells the scorer `split`, `index`, `answer`, `question`,
and `id`, `task`, all `references` and the `options` of a choice (JSON lists), by which rows come back. Source:
volcengine/verl@b178a3c verl/utils/dataset/rl_dataset.py, examples/data_preprocess/geo3k.py.

Kept: `data_source` as `dataset`, `ability` as `category`, other fields in `extra`.
Refused: more or fewer `<image>` than images (`placeholder.count`), unknown roles, videos (`media.unsupported`).
Lost: nothing.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
from msgspec.structs import replace

from mmconvert.chat.conversations import (
    build_conversation_record,
    count_image_parts,
    load_shown_images,
    read_marked_turns,
    refuse_media,
)
from mmconvert.chat.losses import list_losses
from mmconvert.chat.training import report_lost_extra
from mmconvert.core.error_hints import add_hint
from mmconvert.core.errors import RowError, UsageError, in_field, show
from mmconvert.core.record import IMAGE_TYPE, Record, Task, attach_features, encode_json
from mmconvert.core.rows import Row
from mmconvert.core.text.image_markers import Markers, check_count, join_with_markers
from mmconvert.core.text.json import parse_json
from mmconvert.dataset.views import find_solution, remove_last_response
from mmconvert.dataset.write_parquet import build_image_cell, write_parquet
from mmconvert.io.row_files import read_rows
from mmconvert.plugins.format import Context, Format, Loss, Sample, Target

_MARKERS = Markers(("image", "video"))
_NEEDED = ("data_source", "prompt", "reward_model")
_ROLES = ("system", "user", "assistant")
_TEXTS = ("split", "answer", "question", "id", "task", "references")
_HELD = ("category", "split", "dataset")
_TASKS = get_args(Task)
_SCHEMA = attach_features(
    pa.schema(
        [
            ("data_source", pa.string()),
            ("prompt", pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))),
            ("images", pa.list_(IMAGE_TYPE)),
            ("ability", pa.string()),
            ("reward_model", pa.struct([("style", pa.string()), ("ground_truth", pa.string())])),
            (
                "extra_info",
                pa.struct(
                    [
                        ("split", pa.string()),
                        ("index", pa.int64()),
                        ("answer", pa.string()),
                        ("question", pa.string()),
                        ("id", pa.string()),
                        ("task", pa.string()),
                        ("references", pa.string()),
                        ("options", pa.string()),
                    ]
                ),
            ),
        ]
    )
)


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    refuse_media(fields)
    turns, extras = read_marked_turns(fields.pop("prompt", None), "prompt", ("role", "content"), _MARKERS)
    images = load_shown_images(fields.pop("images", None), "images", turns, context)
    reward = fields.pop("reward_model", None)
    if not isinstance(reward, dict):
        raise RowError("answer.type", "reward_model", f"expected an object with ground_truth {show(reward)}.")
    truth = reward.get("ground_truth")
    info = fields.pop("extra_info", None)
    facts = {name: value for name, value in info.items() if value is not None} if isinstance(info, dict) else {}
    known = {name: facts.pop(name) for name in _TEXTS if isinstance(facts.get(name), str)}
    if options := _read_options(facts.get("options")):
        del facts["options"]
    if facts.get("index") == row.where.row:
        del facts["index"]
    source, ability = fields.pop("data_source", None), fields.pop("ability", None)
    if facts:
        fields["extra_info"] = facts
    if reward.get("style") not in (None, "rule"):
        fields["reward_style"] = reward["style"]
    answers = _read_references(known.get("references"), truth)
    record = build_conversation_record(row, context, {**fields, "id": known.get("id")}, turns, images, extras)
    task = known.get("task") or ability
    yield replace(
        record,
        id=record.sample,
        task=context.task or (task if task in _TASKS else "vqa"),
        question=known.get("question") or record.question,
        options=options,
        answer=_write_text(truth) if truth is not None and not isinstance(truth, list) else next(iter(answers), None),
        answers=answers,
        label=None if truth is None else encode_json(truth),
        category=ability if isinstance(ability, str) and ability not in _TASKS else None,
        split=known.get("split"),
        dataset=context.dataset or (source if isinstance(source, str) else None),
    )


def _read_references(text: str | None, truth: Any) -> tuple[str, ...]:
    """Read all references: the list that we write, else what the row's own field holds."""
    values: Any = truth if isinstance(truth, list) else [truth]
    if text is not None:
        with in_field("extra_info.references"):
            found = parse_json(text)
        values = found if isinstance(found, list) else [found]
    return tuple(_write_text(value) for value in values if value is not None)


def _read_options(text: Any) -> tuple[str | None, ...]:
    """Read the list that we write; () for anything else of that name, which is the user's own."""
    try:
        found = parse_json(text) if isinstance(text, str) else None
    except RowError:
        return ()
    if not isinstance(found, list) or not all(option is None or isinstance(option, str) for option in found):
        return ()
    return tuple(found)


def _write_text(value: Any) -> str:
    return value if isinstance(value, str) else encode_json(value)


def _find_mismatch(sample: Sample) -> str | None:
    if missing := sample.find_missing(_NEEDED):
        return missing
    if not all(isinstance(row.get("reward_model"), dict) for row in sample.rows):
        return "reward_model is not an object"
    return (
        None if all(isinstance(row.get("prompt"), list) for row in sample.rows) else "prompt is not a list of messages"
    )


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    if target.path.suffix.lower() != ".parquet":
        raise UsageError("the format is written to .parquet; JSON is only read.")
    losses: list[Loss] = []
    write_parquet(_build_rows(records, target, losses), _SCHEMA, target.path)
    yield from dict.fromkeys(losses)


def _build_rows(records: Iterable[Record], target: Target, losses: list[Loss]) -> Iterator[dict[str, Any]]:
    written = 0
    for record in records:
        try:
            row = _build_fields(record, written, target)
        except RowError as error:
            message = f"the row is left out: {add_hint(error.code, error.field, error.message)}"
            losses.append(Loss(record.id, error.field or "messages", message, left_out=True))
            continue
        written += 1
        losses += list_losses(record, (*_HELD, "options"), target)
        report_lost_extra(record, losses)
        yield row


def _build_fields(record: Record, number: int, target: Target) -> dict[str, Any]:
    asked = remove_last_response(record)
    check_count(count_image_parts(asked.messages), len(asked.images), "images")
    if any(image.bytes is None for image in asked.images):
        raise RowError("image.remote", "images", "an image is only a URL and has no bytes.")
    role = next((turn.role for turn in asked.messages if turn.role not in _ROLES), None)
    if role is not None:
        raise RowError("target.role", "messages", f"the format is written without {role} turns.")
    solution = find_solution(asked)
    if solution is None:
        message = "the row has no reference, and a reward compares with one. Give it, or leave the row out."
        raise RowError("target.answer", "answer", message)
    references = [solution] if len(asked.answers) < 2 else [*asked.answers]
    return {
        "data_source": record.dataset or Path(target.name or target.path.name).stem,
        "prompt": [{"role": t.role, "content": join_with_markers(t.content, _MARKERS)} for t in asked.messages],
        "images": [build_image_cell(image) for image in asked.images],
        "ability": record.category or record.task,
        "reward_model": {"style": "rule", "ground_truth": solution},
        "extra_info": {
            "split": record.split,
            "index": number,
            "answer": solution,
            "question": asked.question,
            "id": record.id,
            "task": record.task,
            "references": encode_json(references),
            "options": encode_json(record.options) if record.options else None,
        },
    }


FORMAT = Format(
    summary="verl's RL prompts: prompt, images and reward_model",
    suffixes=(".parquet", ".json", ".jsonl"),
    rows=read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    cuttable=True,
    images=("inline",),
    unhashed=(".parquet",),
)
