"""ReForm-Eval's dataset JSON: one file a benchmark, images as base64 text inside.

A file is an object whose `data` lists the items, an array of items, or (VisDial) an object with `questions`,
`answers` and `dialogs`; the fields of an item tell its family (`families.FAMILIES`), which stands in `category`.
Nothing is drawn: options keep their order, a question with several prompt templates takes the first, a family whose
question is the instruction takes the project's first one. The rounds of a conversation are records of their own.
TDIUC is a folder with two lists (`kits/reform_eval/tdiuc.py`). Source: FudanDISC/ReForm-Eval@df1cfa7 build; Hugging
Face dataset Aweminus/ReForm-Eval-Data.

Kept: fields without a place, and what the file says of itself, in `extra`.
Refused: items of no known family (`item.shape`), an answer outside the options (`answer.range`).
Lost: nothing.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mmconvert.chat.export_images import as_files, drop_records_without_bytes, encode_base64, write_image_file
from mmconvert.chat.losses import list_losses
from mmconvert.core.errors import RowError, in_field, show
from mmconvert.core.record import LETTERS, Image, Part, Record, Turn, encode_json
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.core.text.json import parse_json
from mmconvert.core.text.options import build_plain_prompt, is_option, read_option_texts
from mmconvert.io import json_array, json_head, json_object
from mmconvert.io.columns import add_extra, keep_extra_fields
from mmconvert.io.json_head import is_object
from mmconvert.io.write_delimited import write_json_array, write_json_object
from mmconvert.kits.reform_eval import tdiuc
from mmconvert.kits.reform_eval.conversations import HISTORY
from mmconvert.kits.reform_eval.families import FAMILIES, Family, FamilyItem
from mmconvert.kits.reform_eval.loader import DATASETS
from mmconvert.kits.reform_eval.pools import OWN_QUESTIONS, load_pools
from mmconvert.kits.reform_eval.shapes import SHAPES, Shape, find_family
from mmconvert.plugins.format import IMAGES, Context, Format, Loss, Sample, Target

OF_FILE = "of_file"
"""Key in `extra` for what the file says once for all items (version, instructs, ...)."""

NAMED = {name: dataset.family for (name, task), dataset in DATASETS.items() if task is None}
"""Family of the framework's dataset names that have one; `--dataset` tells what the fields do not
(CaptionSelection)."""

_QUESTION_ALONE = {"question_id", "image_id", "question"}
_FACTS = "#file"  # carries the file's members to `_read_records`; no field of a source begins so


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    if path.is_dir():
        for item in tdiuc.read_rows(path):
            named = tdiuc.TASKS.get(str(item.fields.get(tdiuc.TYPE)), "TDIUC") if isinstance(item, Row) else ""
            yield _add_facts(item, {"dataset_name": named})
        return
    if not is_object(path):
        for item in json_array.rows(path):
            yield _add_facts(item, {})
        return
    way = ("data", "dialogs") if isinstance(json_object.head(path).get("data"), dict) else ("data",)
    facts = json_object.read_members(path, way)
    texts = facts.pop("data", {})
    for item in json_object.rows(path, way):
        if texts and isinstance(item, Row):
            item = _replace_indices(item, texts)
        yield _add_facts(item, facts)


def _add_facts(item: Row | Rejected, facts: Mapping[str, Any]) -> Row | Rejected:
    return replace(item, fields={**item.fields, _FACTS: facts}) if isinstance(item, Row) else item


def _replace_indices(row: Row, texts: Mapping[str, Any]) -> Row | Rejected:
    """Put texts in the place of a conversation's indices."""
    try:
        rounds = [
            {
                **said,
                "question": texts["questions"][_read_index(said["question"])],
                "answer": said["answer_options"].index(said["answer"]),
                "answer_options": [texts["answers"][_read_index(place)] for place in said["answer_options"]],
            }
            for said in row.fields["dialog"]
        ]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        message = "expected rounds with indices into the file's questions and answers."
        return Rejected(row.where, "dialog.shape", message, "dialog")
    return Row({**row.fields, "dialog": rounds}, row.where)


def _read_index(place: int) -> int:
    if place < 0:
        raise IndexError(place)
    return place


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    facts = fields.pop(_FACTS, {})
    if "dialog" in fields:
        return _read_conversation(fields, facts, row, context)
    name = NAMED.get(context.dataset or "") or find_family(fields, facts)
    item = FAMILIES[name].item(fields)
    image = _load_image(item.image, _find_shape(name).image, context)
    return [_build_record(name, item, image, fields, facts, row, context)]


def _find_shape(name: str) -> Shape:
    """Say how a family's items call their fields; a round's for the families that are not written."""
    return SHAPES.get(name, Shape("", "image_id", "question", "answer_options", "answer"))


def _read_conversation(fields: Mapping[str, Any], facts: Mapping[str, Any], row: Row, context: Context) -> list[Record]:
    group = fields.get("image_id")
    if isinstance(group, bool) or not isinstance(group, int | str):
        raise RowError("id.type", "image_id", f"expected a text or an integer {show(group)}.")
    image = _load_image(fields.get("image_base64"), "image_base64", context)
    common = {name: value for name, value in fields.items() if name != "dialog"}
    records: list[Record] = []
    said: tuple[Turn, ...] = ()
    for number, asked in enumerate(_read_rounds(fields["dialog"])):
        one = {**common, "round_id": number, **asked}
        if records:
            one[HISTORY] = [
                {"question": r.question, "answer_options": list(r.options), "answer": LETTERS.index(r.answer or "A")}
                for r in records
            ]
        with _name_round(number):
            item = FAMILIES["VisDial"].item(one)
            record = _build_record("VisDial", item, image, one, facts, row, context)
        last = record.messages[-1]
        # The image stands in the first question alone.
        messages = (*said, Turn("user", last.content[1:])) if said else record.messages
        records.append(replace(record, messages=messages, group=str(group), round=number))
        shown = () if said else (Part("image"),)
        answer = record.options[item.answer] or ""
        question = Turn("user", (*shown, Part("text", item.questions[0])))
        said = (*said, question, Turn("assistant", (Part("text", answer),)))
    return records


def _read_rounds(conversation: Any) -> list[dict[str, Any]]:
    if not isinstance(conversation, list):
        raise RowError("dialog.type", "dialog", f"expected a list of rounds {show(conversation)}.")
    for number, asked in enumerate(conversation):
        if not isinstance(asked, dict):
            raise RowError("dialog.type", f"dialog[{number}]", f"expected an object {show(asked)}.")
    return conversation


@contextlib.contextmanager
def _name_round(number: int) -> Iterator[None]:
    """Say in which round of the conversation a field is wrong."""
    try:
        yield
    except RowError as error:
        raise RowError(error.code, f"dialog[{number}].{error.field}", error.message) from None


def _load_image(value: Any, field: str, context: Context) -> Image:
    if not isinstance(value, str):
        raise RowError("image.type", field, f"expected base64 text {show(value)}.")
    with in_field(field):
        # No base64 text holds a dot or a colon; a path has its suffix.
        if "." in value or ":" in value:
            return context.images.of_reference(value, 1)
        return context.images.of_base64(value, 1)


def _build_record(
    name: str,
    item: FamilyItem,
    image: Image,
    fields: Mapping[str, Any],
    facts: Mapping[str, Any],
    row: Row,
    context: Context,
) -> Record:
    family = FAMILIES[name]
    question = item.questions[0] if item.questions else _build_question(family, item, context)
    options, answer, answers, label = _read_reference(family, item, _find_shape(name))
    key = str(row.where.row) if item.key is None else str(item.key).strip()
    facts = dict(facts)
    split, dataset = facts.pop("split", None), facts.pop("dataset_name", None)
    extra = keep_extra_fields({field: value for field, value in fields.items() if field not in item.used})
    if facts:
        extra[OF_FILE] = facts
    if isinstance(item.key, int):
        extra["sample_id"] = item.key
    return Record(
        id=f"{context.id_prefix}{key}" if item.key is None else key,
        sample=key,
        messages=(Turn("user", (Part("image"), Part("text", build_plain_prompt(question, None, options)))),),
        task=context.task or family.task,
        source=context.source(row),
        images=(image,),
        question=question,
        options=options,
        answer=answer,
        answers=answers,
        label=label,
        category=name,
        split=split if isinstance(split, str) else None,
        dataset=context.dataset or (dataset if isinstance(dataset, str) else None),
        subset=context.subset,
        extra=extra,
    )


def _build_question(family: Family, item: FamilyItem, context: Context) -> str:
    context.warn(OWN_QUESTIONS)
    return load_pools()[family.pool].choose[0].replace("{}", item.topic or "")


def _read_reference(
    family: Family, item: FamilyItem, named: Shape
) -> tuple[tuple[str, ...], str | None, tuple[str, ...], str | None]:
    """Give options, answer, references and label."""
    if item.options is None:
        answers = item.references or tuple(map(str, item.answer if isinstance(item.answer, list) else [item.answer]))
        label = encode_json(list(item.references) if item.references else item.answer)
        return (), None if item.references else answers[0], answers, label
    with in_field(named.options):
        options = read_option_texts(list(item.options))
    if family.answer_is_text and item.answer not in options:
        raise RowError("answer.not_an_option", named.answer, f"it is none of the options {show(item.answer)}.")
    place = options.index(item.answer) if family.answer_is_text else item.answer
    if not 0 <= place < len(options):
        raise RowError("answer.range", named.answer, f"there are {len(options)} options, counted from 0 {show(place)}.")
    return options, LETTERS[place], (LETTERS[place],), encode_json(item.answer)


def _find_mismatch(sample: Sample) -> str | None:
    if sample.path.is_dir():
        return None if tdiuc.is_tdiuc(sample.path) else "no lists *_ques.json and *_anns.json"
    if "data" in sample.columns:
        data = sample.rows[0]["data"]
        if isinstance(data, dict):
            return None if "dialogs" in data else "its 'data' has no 'conversations'"
        items: Sequence[Any] = data if isinstance(data, list) else ()
    elif sample.suffix == ".json" and json_head.is_object(sample.path):
        return "no member 'data' that lists items"
    else:
        items = sample.rows
    if not items or not isinstance(items[0], dict):
        return "no member 'data' that lists items"
    if "prediction" in items[0]:
        return "its items have a 'prediction', as results do"
    if {*items[0]} == _QUESTION_ALONE:
        return "TDIUC's questions have their answers in another file; name the folder that holds both"
    try:
        find_family(items[0], sample.rows[0] if "data" in sample.columns else {})
    except RowError as error:
        return error.message
    return None


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    losses: list[Loss] = []
    stream = iter(records)
    first = next(stream, None)
    name = _find_family(first) if first is not None else "VQA"
    every = chain([first] if first else [], stream)
    kept = drop_records_without_bytes(_select_family(name, every, losses), losses, lambda record: record.images[:1])
    rows = (_build_fields(record, name, target, losses) for record in kept)
    if SHAPES[name].array:
        write_json_array(rows, target.path)
    else:
        write_json_object(_build_head(first, name), "data", rows, target.path)
    yield from dict.fromkeys(losses)


def _find_family(record: Record) -> str:
    if record.category in SHAPES:
        return record.category
    return "VQA" if record.options else "Caption" if record.task == "caption" else "TextVQA"


def _select_family(name: str, records: Iterable[Record], losses: list[Loss]) -> Iterator[Record]:
    for record in records:
        if _find_family(record) != name:
            message = f"a file holds one family, this one {name}; the row is left out"
            losses.append(Loss(record.id, "category", message, left_out=True))
        elif record.options and (None in record.options or not is_option(record.answer, record.options)):
            message = "the family needs one answer and no gap; the row is left out"
            losses.append(Loss(record.id, "options", message, left_out=True))
        elif SHAPES[name].image and not record.images:
            losses.append(Loss(record.id, "images", "an item shows an image; the row is left out", left_out=True))
        elif not record.options and not record.answers:
            losses.append(Loss(record.id, "answer", "an item has an answer; the row is left out", left_out=True))
        else:
            yield record


def _build_head(record: Record | None, name: str) -> dict[str, Any]:
    """Give what goes before the items: what the file said, else what the framework's loader looks for."""
    if record is None or not isinstance(record.extra.get(OF_FILE), dict):
        facts: dict[str, Any] = {"version": "1.0"} if SHAPES[name].key else {}
    else:
        facts = dict(record.extra[OF_FILE])
    split, dataset = (record.split, record.dataset) if record is not None else (None, None)
    if "version" in facts:
        return {**facts, "split": split or "val"}
    return {**({"dataset_name": dataset} if dataset else {}), **({"split": split} if split else {}), **facts}


_HELD = ("options", "category", "split", "attachments", "sample")
"""Columns that an item or its file has a place for, or whose loss is named with the images."""


def _build_fields(record: Record, name: str, target: Target, losses: list[Loss]) -> dict[str, Any]:
    shape, extra = SHAPES[name], dict(record.extra)
    key = extra.pop("sample_id", record.sample)
    for left in (OF_FILE, HISTORY):
        extra.pop(left, None)
    if len(record.images) != 1 or record.attachments:
        losses.append(Loss(record.id, "images", "an item holds one image"))
    if len(record.messages) > 1:
        losses.append(Loss(record.id, "messages", "an item is a single question"))
    said = ("dataset",) if _build_head(record, name).get("dataset_name") == record.dataset else ()
    if record.sample != record.id and record.variant is None:
        losses.append(Loss(record.id, "id", "an item has one id", remark=True))
    if record.category not in (None, name):
        losses.append(Loss(record.id, "category", f"the item's fields say {name}", remark=True))
    losses += list_losses(record, (*_HELD, *said), target)
    image = record.images[0] if record.images else None
    fields = {
        shape.key: key,
        shape.image: None if image is None else _store_image(image, target),
        shape.question: record.question,
        shape.options: list(record.options),
        shape.answer: _build_answer(record, FAMILIES[name]),
    }
    fields = {field: value for field, value in fields.items() if field}
    # Of the framework's own items `extra` has what the file said where the record says it otherwise.
    return {**fields, **extra} if record.category in SHAPES else add_extra(fields, extra, (), record, losses)


def _store_image(image: Image, target: Target) -> str:
    return write_image_file(image, target) if as_files([image], target) else encode_base64(image)


def _build_answer(record: Record, family: Family) -> Any:
    if record.options:
        place = LETTERS.index(record.answer or "")
        return record.options[place] if family.answer_is_text else place
    if family.task == "caption":
        return list(record.answers)
    label = parse_json(record.label) if record.label is not None else record.answer
    # Numbers are answers of some families, not of those that other formats' records are written as.
    return label if record.category in SHAPES or isinstance(label, str | list) else record.answer


FORMAT = Format(
    summary="ReForm-Eval dataset JSON",
    suffixes=(".json", ""),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    images=IMAGES,
)
