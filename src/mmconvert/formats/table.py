"""A table of anybody: one row a question, an answer or a prediction, in columns with names that people use.

It is taken where no framework's format fits and each field has one column. A field's own name counts before its other
spellings; of several other ones none is taken, and `--map FIELD=COLUMN` decides. `--map` also names columns that are
called otherwise, reaches into objects (`answer=meta.gold`) and gives one text to all rows (`split=:val`).

| field | columns |
| --- | --- |
| id | id, question_id, sample_id, uid, qid, index; without one rows are numbered |
| image | image, images, image_path, image_paths, image_file, file_name, filename, img, img_path |
| question | question, prompt, query, instruction, text, problem |
| options | options, choices; or A, B, C, ... with an option each |
| answer | answer, answers, gt, gt_answer, label, target, solution, ground_truth |
| prediction | prediction, response, output, model_answer, model_output, model_prediction, pred |
| reply | only by `--map`: what the assistant says, for training |

A JSON object holds a row under each id, or only its prediction: `{"q1": "yes", "q2": "no"}`. Where rows share an id, it
is none of theirs: all are numbered, and those with one id share a `group`.

A picture is a path, a data URL, an address, base64, bytes, or an object with `bytes` and `path`; a list holds several.
The answer to options is a letter, or the exact text of one option; a number is refused, for it may count from 0 or 1.

Kept: other columns in `extra`.
Refused: rows without a question, a prediction, or an answer that an id or a picture is there for; an answer that is no
option; values of other types.
Lost: nothing; a picture that is not at hand is named in a warning where the row has a prediction.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mmconvert.chat.conversations import as_list, list_elements, load_image
from mmconvert.core.errors import RowError, in_field, show
from mmconvert.core.record import LETTERS, Image, Part, Record, Turn, encode_json
from mmconvert.core.rows import DELIMITERS, Rejected, Row, Span
from mmconvert.core.text.literals import looks_like_list, parse_list
from mmconvert.core.text.options import (
    build_plain_prompt,
    gather_lettered_options,
    list_letter_columns,
    list_letters,
    read_option_texts,
    require_several,
)
from mmconvert.core.text.placeholders import interleave, list_slots
from mmconvert.io import json_array, json_head, json_object, jsonl, parquet, tables, xlsx
from mmconvert.io.columns import keep_json_fields
from mmconvert.io.field_mapping import CONSTANT, find_column, read_mapped
from mmconvert.plugins.format import Context, Format, Sample

SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "question_id", "sample_id", "uid", "qid", "index"),
    "image": (
        *("image", "images", "image_path", "image_paths", "image_file", "file_name", "filename"),
        *("img", "img_path"),
    ),
    "question": ("question", "prompt", "query", "instruction", "text", "problem"),
    "options": ("options", "choices"),
    "answer": ("answer", "answers", "gt", "gt_answer", "label", "target", "solution", "ground_truth"),
    "prediction": (*("prediction", "response", "output", "model_answer", "model_output", "model_prediction", "pred"),),
    "hint": ("hint",),
    "category": ("category",),
    "l2_category": ("l2_category", "l2-category"),
    "split": ("split",),
    "group": ("group",),
}
"""Field -> names of its column; the first one counts whatever else is there."""

OTHERS = (
    "messages",
    "conversations",
    "conversation",
    "history",
    "chosen",
    "rejected",
    "chosen_messages",
    "images_info",
)
"""Columns of dialogs, which other formats read."""

TRAINING = (("instruction", "output"), ("query", "response"))
"""Columns in which trainers hold a question and the reply to learn; nobody can tell it from a prediction."""

_UNKNOWN = "COLUMN"
_ALIKE = 0.7
"""How alike two names are at least for one to be offered for the other, from 0 to 1."""

CAPTION_PROMPT = "Describe the image."
_BASE64 = re.compile(r"\s*(?:iVBORw0KGg|/9j/|R0lGOD[dl]h|UklGR|SUkqA|TU0AK|Qk[0-3])[A-Za-z0-9+/_=\s-]{60,}", re.DOTALL)
"""How base64 of a PNG, JPEG, GIF, WebP, TIFF or BMP begins."""

_Columns = Mapping[str, tuple[str, ...]]


_SHARED = "#shared id"
"""Field under which `_read_rows` hands over ids that do not tell the rows of the file apart."""


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    """Read a file with ids twice: whether each is one row's is known at its end."""
    rows = _open_rows(path)
    first = next((row for row in rows if isinstance(row, Row)), None)
    column = None if first is None else _find_id(tuple(first.fields))
    if column is None:
        return _open_rows(path)
    counts = Counter(str(row.fields.get(column)) for row in chain([first], rows) if isinstance(row, Row))
    del counts["None"]
    if max(counts.values(), default=1) == 1:
        return _open_rows(path)
    return (_share_id(row, column) if isinstance(row, Row) else row for row in _open_rows(path))


def _open_rows(path: Path) -> Iterator[Row | Rejected]:
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return parquet.rows(path)
    if suffix == ".xlsx":
        return xlsx.rows(path, needed=_is_known)
    if suffix == ".json":
        is_object = json_head.is_object(path)
        return json_object.read_keyed_rows(path, "id", "prediction") if is_object else json_array.rows(path)
    return tables.rows(path) if suffix in DELIMITERS else jsonl.rows(path)


def _find_id(names: tuple[str, ...]) -> str | None:
    return _find_columns(names)[0].get("id", (None,))[0]


def _share_id(row: Row, column: str) -> Row:
    named = {_SHARED if name == column else name: value for name, value in row.fields.items()}
    return Row(named, row.where, row.remarks)


def _is_known(column: str) -> bool:
    return column in LETTERS or any(column in spellings for spellings in SPELLINGS.values())


@lru_cache(4096)
def _find_columns(names: tuple[str, ...], mapping: tuple[tuple[str, str], ...] = ()) -> tuple[_Columns, _Columns]:
    """Find each field's columns, and the columns of fields that have several."""
    found: dict[str, tuple[str, ...]] = {}
    for field, column in mapping:
        found[field] = (*found.get(field, ()), column)
    used = {find_column(names, column) for _, column in mapping}
    several: dict[str, tuple[str, ...]] = {}
    for field, spellings in SPELLINGS.items():
        there = [name for name in spellings if name in names and name not in used]
        if field in found or not there:
            continue
        if there[0] == field or len(there) == 1:
            found[field] = (there[0],)
        else:
            several[field] = tuple(there)
    return found, several


def describe_columns(columns: _Columns) -> str:
    """Say which column is taken for which field, as options to type.

    Example:
        >>> describe_columns({"image": ("file",), "question": ("text",)})
        '--map image=file --map question=text'
    """
    return " ".join(f"--map {field}={column}" for field, named in columns.items() for column in named)


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    columns, _ = _find_columns(tuple(row.fields), context.mapping)

    def read(field: str) -> Any:
        named = columns.get(field)
        value = None if named is None else read_mapped(row.fields, named[0])
        # NaN is what pandas writes for an empty cell among numbers.
        return None if isinstance(value, float) and math.isnan(value) else value

    def read_text(field: str) -> str | None:
        return _read_text(read(field), columns.get(field, (field,))[0])

    shared = _read_id(row.fields.get(_SHARED), "id")
    key = _read_id(read("id"), columns.get("id", ("id",))[0]) or context.numbered(row)
    prediction = read_text("prediction")
    images = _load_images(row.fields, columns.get("image", ()), context, needed=prediction is None)
    question, hint, reply = read_text("question"), read_text("hint"), read_text("reply")
    options, letters = _read_options(row.fields, columns, read("options"))
    if not context.for_scoring:
        require_several(options, columns.get("options", ("A",))[0])
    label = read("answer")
    answers = _read_answers(label, columns.get("answer", ("answer",))[0], options, context)
    known = prediction is not None or (answers and (images or "id" in columns or shared))
    if not (question and question.strip()) and not known and not (images and reply):
        name = columns.get("question", ("question",))[0]
        raise RowError("question.missing", name, "the row has no question. Give it one, or leave the row out.")
    turns, shown = _build_turns(question, hint, options, images, reply, context)
    taken = {named for all_named in columns.values() for named in all_named} | {*letters, _SHARED}
    extra = {name: value for name, value in row.fields.items() if name not in taken}
    yield Record(
        id=key,
        sample=key,
        group=read_text("group") if shared is None else shared,
        messages=turns,
        task=context.task or _choose_task(question, options, answers, images),
        source=context.source(row),
        images=shown,
        question=question,
        hint=hint,
        options=options,
        answer=answers[0] if answers else None,
        answers=answers,
        label=None if label is None else encode_json(label),
        category=read_text("category"),
        l2_category=read_text("l2_category"),
        split=read_text("split"),
        dataset=context.dataset,
        subset=context.subset,
        extra=keep_json_fields(extra, context),
        prediction=prediction,
    )


def _read_id(value: Any, column: str) -> str | None:
    """Read an id; a number with a point is none, for it would not be the 12 of another table."""
    if isinstance(value, bool) or not (value is None or isinstance(value, str | int)):
        raise RowError("id.type", column, f"expected a text or an integer {show(value)}.")
    return None if value is None else str(value).strip() or None


def _read_text(value: Any, column: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RowError(f"{column}.type", column, f"expected a text {show(value)}.")
    return str(value)


def _load_images(fields: Mapping[str, Any], named: Sequence[str], context: Context, needed: bool) -> tuple[Image, ...]:
    """Load the pictures of a row; one that is missing refuses the row where it is needed."""
    images: list[Image] = []
    for column in named:
        value = read_mapped(fields, column)
        if isinstance(value, str) and looks_like_list(value):
            with in_field(column):
                value = parse_list(value)
        for place, item in list_elements(value, column):
            if item is None or item == "":
                continue
            try:
                with in_field(place):
                    images.append(_load_image(item, len(images) + 1, context))
            except RowError as error:
                if needed or error.code not in ("image.missing", "image.remote"):
                    raise
                context.warn("a picture is not at hand; its row has a prediction and is kept without it")
    return tuple(images)


def _load_image(value: Any, slot: int, context: Context) -> Image:
    """Load a picture; a text is base64 where it begins as a picture does, else a path, a data URL or an address."""
    if isinstance(value, str) and _BASE64.fullmatch(value):
        return context.pictures.of_base64(value, slot)
    return load_image(value, slot, context)


def _read_options(
    fields: Mapping[str, Any], columns: _Columns, value: Any
) -> tuple[tuple[str | None, ...], Sequence[str]]:
    """Read the options and name the columns that hold one each."""
    mapped = {letter: named[0] for letter, named in columns.items() if len(letter) == 1}
    if value is not None and value != "":
        name = columns["options"][0]
        with in_field(name):
            if isinstance(value, dict) and [*value] == [*LETTERS[: len(value)]]:
                value = [*value.values()]
            return read_option_texts(value), ()
    letters = mapped or {letter: letter for letter in list_letter_columns(fields)}
    cells = (_read_text(read_mapped(fields, column), column) or None for _, column in sorted(letters.items()))
    return gather_lettered_options(cells), [*letters.values()]


def _read_answers(value: Any, column: str, options: Sequence[str | None], context: Context) -> tuple[str, ...]:
    if isinstance(value, str) and looks_like_list(value) and not options:
        with in_field(column):
            value = parse_list(value)
    texts = [text for item in as_list(value) if (text := _read_text(item, column)) not in (None, "")]
    if not options:
        return tuple(map(str, texts))
    return tuple(_read_choice(str(text), column, options, context) for text in texts)


def _read_choice(text: str, column: str, options: Sequence[str | None], context: Context) -> str:
    """Give the letter that an answer names, itself or by the exact text of one option."""
    letters = list_letters(options)
    named = [letter for letter, option in zip(LETTERS, options, strict=False) if option is not None and option == text]
    letter = text.strip().upper()
    if letter in [*letters] and named in ([], [letter]):
        return letter
    if letter not in [*letters] and len(named) == 1:
        return named[0]
    if context.for_scoring:
        return text
    expected = f"expected one of {', '.join(letters)}, or the text of one option {show(text)}."
    raise RowError("answer.not_an_option", column, expected)


def _build_turns(
    question: str | None,
    hint: str | None,
    options: Sequence[str | None],
    images: tuple[Image, ...],
    reply: str | None,
    context: Context,
) -> tuple[tuple[Turn, ...], tuple[Image, ...]]:
    """Put pictures where placeholders name them, those that none names in front."""
    if not question and not images:
        return (), ()
    prompt = build_plain_prompt(question or CAPTION_PROMPT, hint, options)
    named = list_slots(prompt)
    first = tuple(image for image in images if image.slot not in named)
    parts, shown = interleave(prompt, {image.slot: image for image in images}, "question")
    user = Turn("user", (*(Part("image") for _ in first), *parts))
    turns = (user,) if reply is None else (user, Turn("assistant", (Part("text", reply),)))
    return turns, (*first, *shown)


def _choose_task(
    question: str | None, options: Sequence[str | None], answers: Sequence[str], images: Sequence[Image]
) -> str:
    if options:
        return "multiple_choice"
    if not question and images:
        return "caption"
    says = {answer.strip().lower().rstrip(".") for answer in answers}
    return "yes_no" if says and says <= {"yes", "no"} else "vqa"


def _find_mismatch(sample: Sample) -> str | None:
    if clash := next((name for name in OTHERS if name in sample.columns), None):
        return f"a column {clash!r} of dialogs, which are not read. Look at the formats that have it"
    if sample.suffix == ".json" and json_head.is_object(sample.path):
        keyed = _read_keyed_sample(sample)
        return _find_mismatch(keyed) if keyed is not None else "one object and not a row for each id. Put rows in [...]"
    columns, several = _find_columns(sample.columns)
    if several:
        field, names = next(iter(several.items()))
        return f"several columns for {field}, {' and '.join(map(repr, names))}. Name one: --map {field}={names[0]}"
    asks, answers = (columns.get(field, ("",))[0] for field in ("question", "prediction"))
    if (asks, answers) in TRAINING and "answer" not in columns:
        return (
            f"a column {answers!r}, a model's prediction or a reply to learn. Say which: --map question={asks} and "
            f"--map prediction={answers} or --map reply={answers}"
        )
    if "question" not in columns and not ("id" in columns and columns.keys() & {"prediction", "answer"}):
        close = {field: _suggest_column(field, sample, columns) for field in ("question", "prediction")}
        for field, column in close.items():
            if column != _UNKNOWN:
                return f"no column for the {field}. Name it: --map {field}={column}"
        return f"no column for the question or, with an id, the prediction. Name it: --map question={_UNKNOWN}"
    if "question" in columns and len(columns.keys() & {"image", "answer", "prediction", "options"}) == 0:
        column = _suggest_column("image", sample, columns)
        return f"nothing beside the question, no image, answer or prediction. Name one: --map image={column}"
    return None


def _suggest_column(field: str, sample: Sample, columns: _Columns) -> str:
    """Give the column that is spelled most like one of a field's names, `_UNKNOWN` where none is."""
    taken = {name for named in columns.values() for name in named}
    free = [name for name in sample.columns if name not in taken]
    close = (match for word in SPELLINGS[field] for match in get_close_matches(word, free, 1, _ALIKE))
    return next(close, _UNKNOWN)


def _read_keyed_sample(sample: Sample) -> Sample | None:
    """Give the head of the rows that stand under their ids in one object; None where there is no such object."""
    if len(sample.rows) != 1 or not json_head.is_object(sample.path):
        return None
    values = [*sample.rows[0].values()]
    if any(map(_is_known, sample.columns)):
        return None
    if len(values) > 1 and all(isinstance(value, str) for value in values):
        return replace(sample, suffix="", columns=("id", "prediction"), rows=())
    if len(values) > 1 and all(isinstance(value, dict) for value in values):
        names = dict.fromkeys(name for value in values for name in value)
        return replace(sample, suffix="", columns=("id", *(name for name in names if name != "id")), rows=())
    return None


def _describe(sample: Sample, mapping: tuple[tuple[str, str], ...]) -> str:
    if sample.suffix == ".json":
        sample = _read_keyed_sample(sample) or sample
    columns, _ = _find_columns(sample.columns, mapping)
    fields = {field: named for field, named in columns.items() if not named[0].startswith(CONSTANT)}
    return describe_columns(fields)


FORMAT = Format(
    summary="Any table of questions, answers or predictions; --map names its columns",
    suffixes=(".csv", ".tsv", ".jsonl", ".json", ".parquet", ".xlsx"),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    describe=_describe,
)
