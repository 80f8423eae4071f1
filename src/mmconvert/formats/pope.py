"""POPE's answer files: JSON Lines of `question` and the model's `answer`, and the question files they go with.

A question file into which somebody put the responses (`response`, `prediction`, ...) is both in one.

An answer file has no labels; its order is that of the question file (`text`, `label`, `image`), so that both
number their rows alike and `--answers` puts them together. The files end in .json as often as in .jsonl, and some hold
one JSON array.
Source: AoiDragon/POPE@04ed55d README and evaluate.py.

Kept: the image's name in `group`, the file name's model and other fields in `extra`.
Refused: rows without a question, an answer that is not a text (`answer.type`), a label that is not yes or no
(`label.type`).
Lost: nothing; a question file's image that is not available is named in a warning.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mmconvert.chat.file_names import read_model_name, require_text
from mmconvert.chat.losses import list_losses
from mmconvert.core.errors import RowError, show
from mmconvert.core.record import Image, Part, Record, Turn, encode_json
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.core.text.json import parse_json
from mmconvert.io import json_array, json_head, jsonl
from mmconvert.io.columns import add_extra, build_own_id, keep_extra_fields, number_records
from mmconvert.io.write_delimited import write_jsonl
from mmconvert.plugins.format import Context, Format, Loss, Sample, Target

DATASET = "POPE"
CATEGORIES = ("random", "popular", "adversarial")
NAME = re.compile(rf"(?:(?P<model>.+)_)?(?P<source>[^_]+)_pope_(?P<category>{'|'.join(CATEGORIES)})")
"""Question files are called `coco_pope_random.json`; answer files have no name of their own."""

_QUESTION = re.compile(r"is there an? .+ in the (?:image|imange)", re.IGNORECASE)
_LABELS = ("yes", "no")

RESPONSES = ("response", "prediction", "pred", "output", "model_answer", "model_response")
"""Fields of a response beside a question and its label."""


def _build_file_name(record: Record) -> str:
    """Name an answer file after its model and its question file, whose images are COCO's as a rule."""
    category = record.category if record.category in CATEGORIES else None
    return f"{read_model_name(record)}_coco_pope_{require_text(category, 'category of POPE')}.json"


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    is_array = path.suffix.lower() == ".json" and not json_head.is_object(path)
    return json_array.rows(path) if is_array else jsonl.rows(path, span)


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    asks = "answer" not in fields
    question = fields.pop("text" if asks else "question", None)
    if not isinstance(question, str) or not question.strip():
        raise RowError("question.missing", "text" if asks else "question", f"expected a text {show(question)}.")
    said = "answer" if not asks else next((name for name in RESPONSES if name in fields), None)
    response = None if said is None else fields.pop(said)
    if said is not None and not isinstance(response, str):
        raise RowError("answer.type", said, f"expected the model's response, a text {show(response)}.")
    label = fields.pop("label", None)
    if label is not None and label not in _LABELS:
        raise RowError("label.type", "label", f"expected yes or no {show(label)}.")
    name = NAME.fullmatch(row.where.stem)
    image = fields.get("image")
    images = _load_images(image, context) if asks and said is None else ()
    if images:
        del fields["image"]
    key = context.numbered(row)
    yield Record(
        id=key,
        sample=key,
        group=image if isinstance(image, str) else None,
        messages=(Turn("user", (*(Part("image") for _ in images), Part("text", question))),),
        task=context.task or "yes_no",
        source=context.source(row),
        images=images,
        question=question,
        answer=label,
        answers=() if label is None else (label,),
        label=None if label is None else encode_json(label),
        category=name["category"] if name else None,
        dataset=context.dataset or DATASET,
        subset=context.subset,
        extra={**({"model": name["model"]} if name and name["model"] else {}), **keep_extra_fields(fields)},
        prediction=response,
    )


def _load_images(name: Any, context: Context) -> tuple[Image, ...]:
    """Load a question's image where it is available; labels are of use without it."""
    if not isinstance(name, str):
        return ()
    try:
        return (context.images.of_reference(name, 1),)
    except RowError as error:
        if error.code != "image.missing":
            raise
        context.warn("a question's image is not under the image root; the row is kept without it")
        return ()


def _find_mismatch(sample: Sample) -> str | None:
    if not sample.rows:
        return "no rows"
    for fields in sample.rows:
        question = fields.get("question" if "answer" in fields else "text")
        if not isinstance(question, str) or not _QUESTION.match(question.strip()):
            return "no question 'Is there a ... in the image?' under 'question', or under 'text'"
        if "answer" not in fields and "label" not in fields:
            return "neither an answer nor a label"
    # Beside an answer, which is the model's, no other field is one.
    others = RESPONSES if "answer" in sample.columns else ()
    return sample.find_clash(("options", "messages", "conversations", *others), "field")


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    losses: list[Loss] = []
    name = NAME.fullmatch(Path(target.name or target.path.name).stem)
    write_jsonl((_build_fields(record, name, target, losses) for record in number_records(records)), target.path)
    yield from dict.fromkeys(losses)


def _build_fields(record: Record, name: re.Match[str] | None, target: Target, losses: list[Loss]) -> dict[str, Any]:
    extra = dict(record.extra)
    if name and extra.get("model") == name["model"]:
        extra.pop("model", None)
    if record.category is not None and not (name and name["category"] == record.category):
        losses.append(
            Loss(
                record.id, "category", "only the file's name states it: {model}_coco_pope_{category}.json", remark=True
            )
        )
    for image in record.images:
        extra["image"] = image.name
        losses.append(Loss(record.id, "images", "an answer file holds no images"))
    if build_own_id(record):
        losses.append(Loss(record.id, "id", "questions are known by their order", remark=True))
    if len(record.messages) > 1:
        losses.append(Loss(record.id, "messages", "only the question has a place"))
    losses += list_losses(record, ("category", "prediction"), target, {"dataset": DATASET, "group": extra.get("image")})
    label = None if record.label is None else parse_json(record.label)
    if label is not None and label not in _LABELS:
        losses.append(Loss(record.id, "answer", "a label is yes or no"))
        label = None
    if record.prediction is None:
        return add_extra({"text": record.question, "label": label}, extra, ("answer",), record, losses)
    fields = {"question": record.question, "answer": record.prediction, "label": label}
    add_extra(fields, extra, (), record, losses)
    return {key: value for key, value in fields.items() if value is not None}


FORMAT = Format(
    summary="POPE answers (JSON Lines), and the question files they go with",
    suffixes=(".jsonl", ".json"),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    file_name=_build_file_name,
)
