"""MMMU-Pro's model outputs: JSON Lines `{model}_{setting}_{mode}.jsonl`, one question with its `response` a line.

The options are list text; `answer` is a letter. What the authors' own parsing added (`pred_indexs`,
`if_right`) stays in `extra`. Source: MMMU-Benchmark/MMMU@bb0b95a mmmu-pro/infer, mmmu-pro/evaluate.py.

Kept: what the authors parsed, the file name's model and mode, and a failed call's object in `extra`.
Refused: rows without id, options that are no list of at most 26, an answer that is no letter.
Lost: nothing; the files hold no images.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mmconvert.chat.file_names import read_model_name, require_text
from mmconvert.chat.losses import list_losses
from mmconvert.core.errors import RowError, in_field, show
from mmconvert.core.record import LETTERS, Record, encode_json
from mmconvert.core.rows import Row
from mmconvert.core.text.literals import parse_list
from mmconvert.io import jsonl
from mmconvert.io.columns import add_extra, keep_extra_fields, read_letter_or_label
from mmconvert.io.write_delimited import write_jsonl
from mmconvert.kits.mmmu.subjects import DOMAIN_OF, parse_split
from mmconvert.plugins.format import Context, Format, Loss, Target

DATASET = "MMMU_Pro"
REQUIRED = ("id", "options", "answer", "response")
NAME = re.compile(r"(?P<model>.+)_(?P<setting>standard ?(?:\(\d+ options\))?|vision)_(?P<mode>cot|direct)")


def _build_file_name(record: Record) -> str:
    setting, mode = require_text(record.subset, "setting (subset)"), record.extra.get("mode", "direct")
    return f"{read_model_name(record)}_{setting}_{mode}.jsonl"


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    key = fields.pop("id", None)
    if not isinstance(key, str) or not key.strip():
        raise RowError("id.missing", "id", f"expected a text {show(key)}.")
    question = fields.pop("question", None)
    if question is not None and not isinstance(question, str):
        raise RowError("question.type", "question", f"expected a text {show(question)}.")
    with in_field("options"):
        options = _read_options(fields.get("options"))
    label = fields.pop("answer", None)
    answer = _read_answer(label, options, context)
    subject = fields.pop("subject", None)
    name = NAME.fullmatch(row.where.stem)
    setting = name["setting"] if name else None
    yield Record(
        id=key.strip(),
        sample=key.strip(),
        messages=(),
        task=context.task or "multiple_choice",
        source=context.source(row),
        question=question,
        options=options,
        answer=answer,
        answers=() if answer is None else (answer,),
        label=None if label is None else encode_json(label),
        category=subject if isinstance(subject, str) else None,
        l2_category=DOMAIN_OF.get(str(subject)),
        split=parse_split(key),
        dataset=context.dataset or DATASET,
        subset=context.subset or setting,
        prediction=_read_response(fields),
        extra={**({"model": name["model"], "mode": name["mode"]} if name else {}), **keep_extra_fields(fields)},
    )


def _read_options(value: Any) -> tuple[str, ...]:
    """Read the options; the published data has a question whose only option is a list, shown as Python writes it."""
    items = parse_list(value) if isinstance(value, str) else value
    if not isinstance(items, list):
        raise RowError("options.type", "", f"expected a list of options {show(value)}.")
    for place, item in enumerate(items):
        if item is None or isinstance(item, bool | dict):
            raise RowError("options.type", f"[{place}]", f"an option must be a text or a number {show(item)}.")
    if not 1 <= len(items) <= len(LETTERS):
        raise RowError("options.count", "", f"expected 1 to {len(LETTERS)} options, found {len(items)}.")
    return tuple(map(str, items))


def _read_answer(label: Any, options: tuple[str, ...], context: Context) -> str | None:
    if label is None:
        return None
    if not isinstance(label, str) or label.strip().upper() not in tuple(LETTERS):
        raise RowError("answer.type", "answer", f"expected one letter {show(label)}.")
    letter = label.strip().upper()
    if letter not in LETTERS[: len(options)]:
        # The script counts such a question as wrong; without it the published number cannot be met.
        context.warn("an answer is the letter of no option, and no response can meet it")
    return letter


def _read_response(fields: dict[str, Any]) -> str | None:
    """Take the response; an object is what the script writes where the service failed, and stays in `extra`."""
    value = fields.get("response")
    if isinstance(value, dict):
        return None
    if value is not None and not isinstance(value, str):
        raise RowError("response.type", "response", f"expected a text {show(value)}.")
    fields.pop("response", None)
    return value


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    losses: list[Loss] = []
    name = NAME.fullmatch(Path(target.name or target.path.name).stem)
    said = {"model": name["model"], "mode": name["mode"], "setting": name["setting"]} if name else {}
    write_jsonl((_build_fields(record, said, target, losses) for record in records), target.path)
    yield from dict.fromkeys(losses)


_HELD = ("options", "category", "subset", "prediction", "sample")


def _build_fields(record: Record, said: dict[str, str], target: Target, losses: list[Loss]) -> dict[str, Any]:
    extra = {name: value for name, value in record.extra.items() if said.get(name) != value}
    options, response = extra.pop("options", None), extra.pop("response", None)
    if None in record.options or not record.options:
        losses.append(Loss(record.id, "options", "the format needs an unbroken list of options"))
    if len(record.messages) > 1:
        losses.append(Loss(record.id, "messages", "only the question has a place"))
    if record.images:
        losses.append(Loss(record.id, "images", "the format has no field for it"))
    if record.sample != record.id:
        losses.append(Loss(record.id, "id", "the format has one id for a row", remark=True))
    derived = {
        "split": parse_split(record.sample),
        "l2_category": DOMAIN_OF.get(str(record.category)),
        "dataset": DATASET,
    }
    losses += list_losses(record, _HELD, target, derived)
    if record.subset != said.get("setting"):
        losses.append(
            Loss(record.id, "subset", "only the file's name states it: {model}_{setting}_{mode}.jsonl", remark=True)
        )
    fields: dict[str, Any] = {
        "id": record.sample,
        "question": record.question,
        "options": options or str([option or "" for option in record.options]),
        "answer": read_letter_or_label(record),
        "subject": record.category,
    }
    add_extra(fields, extra, (), record, losses)
    fields["response"] = response if record.prediction is None else record.prediction
    return {name: value for name, value in fields.items() if value is not None}


FORMAT = Format(
    summary="MMMU-Pro model outputs, {model}_{setting}_{mode}.jsonl",
    suffixes=(".jsonl",),
    rows=jsonl.rows,
    records=_read_records,
    mismatch=lambda sample: sample.find_missing(REQUIRED, "field"),
    write=_write,
    file_name=_build_file_name,
)
