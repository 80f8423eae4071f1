"""ScienceQA's questions, `problems.json`: an object with an object for each question's id.

Source: lupantech/ScienceQA data/scienceqa/problems.json; haotian-liu/LLaVA@c121f04 llava/eval/eval_science_qa.py.

Kept: `subject` as `category`; `image`, `grade`, `topic`, `skill`, `lecture`, `solution` and other fields in `extra`.
Refused: rows without a question, choices that are no list of texts, an answer that is the number of no choice.
Lost: nothing; an image that is not available is named in a warning.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mmconvert.chat.benchmark_questions import build_question_record, find_keyed_mismatch, take_text
from mmconvert.core.errors import RowError, in_field, show
from mmconvert.core.record import LETTERS, Record
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.core.text.options import read_option_texts
from mmconvert.io import json_object
from mmconvert.plugins.format import Context, Format, Sample

DATASET = "ScienceQA"
_KEY = "#key"
_NEEDED = ("question", "choices", "answer", "lecture", "subject")


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    return json_object.read_keyed_rows(path, _KEY, "question")


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    key, question = str(fields.pop(_KEY)), take_text(fields, "question")
    with in_field("choices"):
        options = read_option_texts(fields.pop("choices", None), least=1)
    answer = fields.pop("answer", None)
    hint, split, subject = (_take_text(fields, name) for name in ("hint", "split", "subject"))
    image = fields.get("image")
    yield build_question_record(
        row,
        context,
        key,
        question,
        dataset=DATASET,
        image="/".join(part for part in (split, key, image) if part) if isinstance(image, str) else None,
        options=options,
        answer=_read_letter(answer, options),
        label=answer,
        extra=fields,
        hint=hint,
        split=split,
        category=subject,
    )


def _take_text(fields: dict[str, Any], name: str) -> str | None:
    return (fields.pop(name) or None) if isinstance(fields.get(name), str) else None


def _read_letter(answer: Any, options: tuple[str, ...]) -> str | None:
    if answer is None:
        return None
    if isinstance(answer, bool) or not isinstance(answer, int) or not 0 <= answer < len(options):
        message = f"expected the number of a choice, 0 to {len(options) - 1} {show(answer)}."
        raise RowError("answer.not_an_option", "answer", message)
    return LETTERS[answer]


def _find_mismatch(sample: Sample) -> str | None:
    return find_keyed_mismatch(sample, _NEEDED)


FORMAT = Format(
    summary="ScienceQA's questions (problems.json), one JSON object with an object for each id",
    suffixes=(".json",),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
)
