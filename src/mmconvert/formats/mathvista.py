"""MathVista's files: one JSON object with an object for each `pid`, its questions or a model's results.

Results add `query` (the prompt), `response` and, once an answer was taken out of it, `extraction`, `prediction` and
`true_false`. Source: lupantech/MathVista@53d5258 data/testmini.json, results/bard/output_bard.json,
evaluation/generate_response.py, extract_answer.py, calculate_score.py.

Kept: `extraction`, types, precision, and each member of `metadata` under its own name in `extra`; `prediction` as
`extra.normalized`.
Refused: rows without a question, choices that are no list of texts (`options.type`), an answer that is none of the
choices (`answer.not_an_option`), a missing image of a row without a response.
Lost: nothing; a result's image that is not available is named in a warning.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mmconvert.chat.benchmark_questions import find_keyed_mismatch
from mmconvert.core.errors import RowError, in_field, show
from mmconvert.core.record import LETTERS, Image, Part, Record, Turn, encode_json
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.core.text.options import build_plain_prompt, read_option_texts
from mmconvert.io import json_object
from mmconvert.io.columns import keep_extra_fields
from mmconvert.plugins.format import Context, Format, Framework, Sample

DATASET = "MathVista"
_PID = "pid"
_KEY = "#key"
"""Field for a member's name; the object has a `pid` of its own as a rule."""

_NEEDED = ("question", "question_type", "answer_type", "choices", "metadata")


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    return json_object.read_keyed_rows(path, _KEY, "response")


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    name = fields.pop(_KEY)
    key = _read_text(fields.pop(_PID, None), _PID) or str(name)
    question, response, query = (_read_text(fields.pop(name, None), name) for name in ("question", "response", "query"))
    if question is None or not question.strip():
        raise RowError("question.missing", "question", f"expected a text {show(question)}.")
    choices, answer = fields.pop("choices", None), _read_text(fields.pop("answer", None), "answer")
    with in_field("choices"):
        options = read_option_texts(choices, least=1) if choices is not None else ()
    images = _load_images(fields.pop("image", None), context, needed=response is None)
    reference = _find_letter(answer, options, context) if options and answer else answer
    extra = _flatten_metadata(fields)
    extra["normalized"] = extra.pop("prediction", None)
    prompt = build_plain_prompt(question, None, options) if query is None else query
    yield Record(
        id=key,
        sample=key,
        messages=(Turn("user", (*(Part("image") for _ in images), Part("text", prompt))),),
        task=context.task or ("multiple_choice" if options else "vqa"),
        source=context.source(row),
        images=images,
        question=question,
        options=options,
        answer=reference or None,
        answers=(reference,) if reference else (),
        label=encode_json(answer) if answer else None,
        category=_take_text(extra, "category"),
        split=_take_text(extra, "split"),
        dataset=context.dataset or DATASET,
        subset=context.subset,
        extra=keep_extra_fields(extra),
        prediction=response,
    )


def _flatten_metadata(fields: dict[str, Any]) -> dict[str, Any]:
    """Give the members of `metadata` a place beside the other fields, as `calculate_score.py` does."""
    metadata = fields.pop("metadata", None)
    if isinstance(metadata, dict):
        return fields | {name: value for name, value in metadata.items() if name not in fields}
    return fields if metadata is None else fields | {"metadata": metadata}


def _read_text(value: Any, name: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise RowError(f"{name}.type", name, f"expected a text {show(value)}.")
    return value


def _take_text(extra: dict[str, Any], name: str) -> str | None:
    """Take a text that has a column of its own; any other value stays in `extra`."""
    return extra.pop(name) if isinstance(extra.get(name), str) else None


def _find_letter(answer: str, options: tuple[str, ...], context: Context) -> str:
    """Give the letter of the choice that an answer repeats; of equal ones the first."""
    if answer in options:
        return LETTERS[options.index(answer)]
    if context.for_scoring:
        return answer
    raise RowError("answer.not_an_option", "answer", f"expected the text of one of the choices {show(answer)}.")


def _load_images(value: Any, context: Context, needed: bool) -> tuple[Image, ...]:
    if value is None or value == "":
        return ()
    try:
        with in_field("image"):
            return (context.images.of_value(value, 1),)
    except RowError as error:
        if needed or error.code != "image.missing":
            raise
        context.warn("a result's image is missing; the row is kept without it")
        return ()


def _find_mismatch(sample: Sample) -> str | None:
    return find_keyed_mismatch(sample, _NEEDED)


FORMAT = Format(
    summary="MathVista questions and results, one JSON object with an object for each pid",
    suffixes=(".json",),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    framework=Framework("MathVista", results=True, knows=DATASET.__eq__),
)
