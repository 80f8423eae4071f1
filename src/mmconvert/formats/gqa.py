"""GQA's questions, `testdev_balanced_questions.json`: an object with an object for each question's id.

Source: the data set's own files (https://cs.stanford.edu/people/dorarad/gqa/download.html) and its eval.py.

Kept: `imageId` as `group`; `types`, `groups`, `semantic`, `fullAnswer` and other fields in `extra`.
Refused: rows without a question.
Lost: nothing; an image that is not available is named in a warning.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from mmconvert.chat.benchmark_questions import build_question_record, find_keyed_mismatch, take_text
from mmconvert.core.errors import RowError, show
from mmconvert.core.record import Record
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.io import json_object
from mmconvert.plugins.format import Context, Format, Sample

DATASET = "GQA"
_KEY = "#key"
_NEEDED = ("imageId", "question", "isBalanced")


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    return json_object.read_keyed_rows(path, _KEY, "question")


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    key, question = str(fields.pop(_KEY)), take_text(fields, "question")
    image, answer = fields.get("imageId"), fields.pop("answer", None)
    if answer is not None and not isinstance(answer, str):
        raise RowError("answer.type", "answer", f"expected a text {show(answer)}.")
    image = image if isinstance(image, str) else None
    yield build_question_record(
        row,
        context,
        key,
        question,
        dataset=DATASET,
        image=None if image is None else f"{image}.jpg",
        answer=answer,
        extra=fields,
        group=image,
    )


def _find_mismatch(sample: Sample) -> str | None:
    return find_keyed_mismatch(sample, _NEEDED)


FORMAT = Format(
    summary="GQA's questions, one JSON object with an object for each id",
    suffixes=(".json",),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
)
