"""Benchmarks as the Hub holds them in parquet: a question, its reference and an `image` a row.

The layouts are those of lmms-lab's repackagings, told by their columns: MMBench, POPE, MME, OCRBench, COCO
captions, VQAv2, TextVQA, DocVQA, ChartQA, MMT-Bench with several images, and any other table of `question`,
`answer` or `answers`, and images. MMBench writes the text "nan" for what is absent. Source: dataset cards of
lmms-lab and echo840/OCRBench, EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks.

Kept: columns without a place in `extra`; the names of columns that held the text "nan" in `extra.nan`.
Refused: rows without an image (`image.absent`) or a question (`question.missing`), the letter of no option.
Lost: which of several layouts a table had; its columns tell it again.
"""

import math
from collections.abc import Iterable
from typing import Any

import msgspec

from mmconvert.chat.conversations import as_list, list_elements, load_image
from mmconvert.core.errors import RowError, in_field, show
from mmconvert.core.json_values import convert_to_json
from mmconvert.core.record import LETTERS, Image, Part, Record, Turn, encode_json
from mmconvert.core.rows import Row
from mmconvert.core.text.options import build_plain_prompt, gather_lettered_options, read_answer_letter, require_several
from mmconvert.io import parquet
from mmconvert.io.columns import keep_json_fields, respell
from mmconvert.plugins.format import Context, Format, Sample

IMAGES = ("image", "images")
ABSENT = "nan"
CAPTION_PROMPT = "Provide a one-sentence caption for the provided image."
"""Prompt of captions without a question. Source: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/coco_cap."""


class ColumnLayout(msgspec.Struct, frozen=True):
    """How one benchmark's columns are called.

    Attributes:
        columns: Columns that tell it.
        keys: Columns whose value tells rows apart, the first that is there counts; () numbers the rows.
        group: Column of what several rows share.
        category: Column of the category.
        task: What its rows ask for, captions only with a list of references; "" where answers of yes and
            no make it yes_no, else vqa.
    """

    columns: tuple[str, ...]
    keys: tuple[str, ...] = ()
    group: str | None = None
    category: str | None = None
    task: str = ""


LAYOUTS = {
    "MMBench": ColumnLayout(
        ("question", "A", "B"), ("index", "id", "question_id"), None, "category", "multiple_choice"
    ),
    "POPE": ColumnLayout(("question", "answer", "image_source", "category"), ("id",), "image_source", "category"),
    "MME": ColumnLayout(("question", "answer", "question_id", "category"), (), "question_id", "category"),
    "OCRBench": ColumnLayout(("question", "answer", "dataset", "question_type"), (), None, "question_type", "ocr"),
    "COCO": ColumnLayout(("answer", "question_id", "id"), ("question_id",), None, None, "caption"),
    "VQAv2 and TextVQA": ColumnLayout(("question", "answers", "question_id"), ("question_id",), None, None, "vqa"),
    "DocVQA": ColumnLayout(("question", "answers", "questionId"), ("questionId",), None, None, "vqa"),
    "ChartQA": ColumnLayout(("question", "answer", "type"), (), None, "type", "vqa"),
    "answers": ColumnLayout(("question", "answers"), ("id",), None, "category"),
    "answer": ColumnLayout(("question", "answer"), ("id",), None, "category"),
}
"""Benchmark -> its layout; the first whose columns are all there counts."""

OTHERS = ("options", "messages", "conversations", "texts", "prompt", "completion", "prediction", "image_info")
"""Columns that other formats are told by."""

_WORDS = ("l2-category",)


def _find_layout(columns: Iterable[str]) -> ColumnLayout | None:
    found = {*columns}
    return next((layout for layout in LAYOUTS.values() if found.issuperset(layout.columns)), None)


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    layout = _find_layout(row.fields) or LAYOUTS["answer"]
    # NaN is what pandas writes for an empty cell among numbers.
    cells = {name: None if isinstance(cell, float) and math.isnan(cell) else cell for name, cell in row.fields.items()}
    fields, _ = respell(cells, _WORDS)
    chooses = "A" in layout.columns
    absent = [name for name, value in fields.items() if chooses and value == ABSENT]
    for name in absent:
        fields[name] = None
    images = _load_images(fields, context)
    key = _build_key(fields, layout, row, context)
    options = gather_lettered_options(_read_option(fields.pop(letter, None), letter) for letter in LETTERS)
    require_several(options, "A")
    name = "answers" if "answers" in fields else "answer"
    label = fields.pop(name, None)
    answers = _read_references(label, name)
    task = context.task or _choose_task(layout, label, answers)
    if options and answers:
        with in_field(name):
            answers = (read_answer_letter(answers[0], options),)
    question, hint = _read_text(fields, "question"), _read_text(fields, "hint")
    if not question and task != "caption":
        raise RowError("question.missing", "question", f"the row has no question {show(question)}.")
    prompt = build_plain_prompt(question or CAPTION_PROMPT, hint, options)
    group, category = _take_value(fields, layout.group), _take_value(fields, layout.category)
    l2_category, split = _read_text(fields, "l2-category"), _read_text(fields, "split")
    extra = keep_json_fields(fields, context)
    if absent:
        extra[ABSENT] = absent
    yield Record(
        id=key,
        sample=key,
        group=group,
        messages=(Turn("user", (*(Part("image") for _ in images), Part("text", prompt))),),
        task=task,
        source=context.source(row),
        images=images,
        question=question,
        hint=hint,
        options=options,
        answer=None if task == "caption" or not answers else answers[0],
        answers=answers,
        label=_read_label(label, name),
        category=category,
        l2_category=l2_category,
        split=split,
        dataset=context.dataset,
        subset=context.subset,
        extra=extra,
    )


def _load_images(fields: dict[str, Any], context: Context) -> tuple[Image, ...]:
    images: list[Image] = []
    for name in IMAGES:
        for place, value in list_elements(fields.pop(name, None), name):
            with in_field(place):
                images.append(load_image(value, len(images) + 1, context))
    if not images:
        raise RowError("image.absent", "image", "the row has no image. Leave it out, or give its image.")
    return tuple(images)


def _build_key(fields: dict[str, Any], layout: ColumnLayout, row: Row, context: Context) -> str:
    name = next((name for name in layout.keys if fields.get(name) is not None), None)
    value = fields.pop(name) if name else None
    if name is None:
        return context.numbered(row)
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise RowError("id.type", name, f"expected a text or a number {show(value)}.")
    return str(value).strip()


def _read_option(value: Any, letter: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RowError("options.type", letter, f"expected a text or a number {show(value)}.")
    return str(value)


def _read_references(label: Any, name: str) -> tuple[str, ...]:
    """Read the references: a text, a list of texts, or VQAv2's list of objects."""
    if label is None or label == "":
        return ()
    values = [value.get("answer") if isinstance(value, dict) else value for value in as_list(label)]
    if any(isinstance(value, bool) or not isinstance(value, str | int | float) for value in values):
        raise RowError("answer.type", name, f"expected texts, or objects with an answer {show(label)}.")
    return tuple(map(str, values))


def _read_label(value: Any, name: str) -> str | None:
    try:
        return None if value is None else encode_json(convert_to_json(value))
    except (TypeError, ValueError):
        message = f"the reference has a value that JSON cannot hold {show(value)}. Write it as text."
        raise RowError("answer.type", name, message) from None


def _choose_task(layout: ColumnLayout, label: Any, answers: tuple[str, ...]) -> str:
    if layout.task and (layout.task != "caption" or isinstance(label, list)):
        return layout.task
    facts = answers and all(answer.strip().lower().rstrip(".") in ("yes", "no") for answer in answers)
    return "yes_no" if facts else "vqa"


def _read_text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.pop(name, None)
    if value is not None and not isinstance(value, str):
        raise RowError(f"{name.replace('-', '_')}.type", name, f"expected a text {show(value)}.")
    return value


def _take_value(fields: dict[str, Any], name: str | None) -> str | None:
    """Take a column whose text has a place of its own; what is not a text stays where it is."""
    return fields.pop(name) if name is not None and isinstance(fields.get(name), str) else None


def _find_mismatch(sample: Sample) -> str | None:
    if clash := sample.find_clash(OTHERS):
        return clash
    if _find_layout(sample.columns) is None:
        return "no column 'question' with an 'answer'"
    cells = [cell for row in sample.rows for name in IMAGES for cell in as_list(row.get(name))]
    shown = cells and all(isinstance(cell, dict) and {"bytes", "path"} <= cell.keys() for cell in cells)
    return None if shown else "no column 'image' with images"


FORMAT = Format(
    summary="Benchmarks in parquet as lmms-lab publishes them: question, answer, image",
    suffixes=(".parquet",),
    rows=parquet.rows,
    records=_read_records,
    mismatch=_find_mismatch,
    cuttable=True,
)
