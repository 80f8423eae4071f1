"""What readers of benchmarks' question files share: the keys that predictions are scored with, and questions to ask."""

from collections.abc import Mapping, Sequence
from typing import Any

from mmconvert.core.errors import RowError, in_field, show
from mmconvert.core.record import Image, Part, Record, Turn, encode_json
from mmconvert.core.rows import Row
from mmconvert.core.text.options import build_plain_prompt
from mmconvert.io import json_head
from mmconvert.io.columns import keep_extra_fields
from mmconvert.plugins.format import Context, Sample


def build_question_record(
    row: Row,
    context: Context,
    key: str,
    question: str,
    *,
    dataset: str,
    image: str | None = None,
    image_needed: bool = False,
    options: Sequence[str] = (),
    answer: str | None = None,
    answers: Sequence[str] = (),
    label: Any = None,
    extra: Mapping[str, Any] | None = None,
    group: str | None = None,
    hint: str | None = None,
    split: str | None = None,
    category: str | None = None,
) -> Record:
    """Make the record of a benchmark's question; its image is shown where it is available.

    Args:
        row: The raw row.
        context: What is known beside it.
        key: The question's id.
        question: Its text.
        dataset: The benchmark's name.
        image: Name of the image, None for a question without one.
        image_needed: Refuse a question whose image is not available, which is kept without it otherwise.
        options: Options by letter.
        answer: The reference.
        answers: All references, where there are several.
        label: The reference as the source wrote it, None for that of `answers` or `answer`.
        extra: Fields without a column.
        group: What questions are about together, such as the image.
        hint: What goes before the question.
        split: Its split.
        category: Its category.
    """
    images = _load_image(image, context, needed=image_needed)
    prompt = build_plain_prompt(question, hint, options)
    label = label if label is not None else list(answers) or answer
    return Record(
        id=key,
        sample=key,
        messages=(Turn("user", (*(Part("image") for _ in images), Part("text", prompt))),),
        task=context.task or ("multiple_choice" if options else "vqa"),
        source=context.source(row),
        images=images,
        question=question,
        options=tuple(options),
        answer=answer if answer is not None else next(iter(answers), None),
        answers=tuple(answers) or (() if answer is None else (answer,)),
        label=None if label is None else encode_json(label),
        dataset=context.dataset or dataset,
        subset=context.subset,
        extra=keep_extra_fields(extra or {}),
        group=group,
        hint=hint,
        split=split,
        category=category,
    )


def take_text(fields: dict[str, Any], name: str) -> str:
    """Take a text that a question must have.

    Raises:
        RowError: `<name>.missing`.
    """
    value = fields.pop(name, None)
    if not isinstance(value, str) or not value.strip():
        raise RowError(f"{name}.missing", name, f"expected a text {show(value)}.")
    return value


def find_keyed_mismatch(sample: Sample, needed: Sequence[str]) -> str | None:
    """Say why a file is no JSON object with an object for each question, None where it is one.

    Args:
        sample: The file's head.
        needed: Fields that each question must have.
    """
    is_object = len(sample.rows) == 1 and json_head.is_object(sample.path)
    return _find_missing(
        [*sample.rows[0].values()] if is_object else [], "no object with an object for each question", needed
    )


def find_listed_mismatch(sample: Sample, rows: str, needed: Sequence[str]) -> str | None:
    """Say why a file is no JSON object with a list of questions, None where it is one.

    Args:
        sample: The file's head.
        rows: Name of the list.
        needed: Fields that each question must have.
    """
    is_object = len(sample.rows) == 1 and json_head.is_object(sample.path)
    listed = sample.rows[0].get(rows) if is_object else None
    return _find_missing(
        listed if isinstance(listed, list) else [], f"no object with a list {rows!r} of questions", needed
    )


def _find_missing(rows: Sequence[Any], otherwise: str, needed: Sequence[str]) -> str | None:
    if not rows or not all(isinstance(row, dict) for row in rows):
        return otherwise
    missing = next((name for name in needed if any(name not in row for row in rows)), None)
    return None if missing is None else f"no field {missing!r}"


def _load_image(name: str | None, context: Context, *, needed: bool) -> tuple[Image, ...]:
    if name is None:
        return ()
    try:
        with in_field("image"):
            return (context.images.of_reference(name, 1),)
    except RowError as error:
        if needed or error.code != "image.missing":
            raise
        context.warn("a question's image is not under the image root; the row is kept without it")
        return ()
