"""TextVQA's questions, `TextVQA_0.5.1_val.json`: an object whose `data` lists them with ten answers each.

Source: the data set's own files as lmms-lab and LLaVA use them (haotian-liu/LLaVA@c121f04 llava/eval/eval_textvqa.py).

Kept: `image_id` as `group`, `image_classes`, sizes and addresses in `extra`; `question_tokens` are left out.
Refused: rows without a question, an id or a list of answers (`answers.type`).
Lost: version and name of the set, which stand beside `data`; an image that is not available is named in a warning.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from mmconvert.chat.benchmark_questions import build_question_record, find_listed_mismatch, take_text
from mmconvert.core.errors import RowError, show
from mmconvert.core.record import Record
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.io import json_object
from mmconvert.io.columns import take_id
from mmconvert.plugins.format import Context, Format, Sample

DATASET = "TextVQA"
_ROWS, _IMAGE = "data", "image_id"
_NEEDED = ("image_id", "question", "question_id", "question_tokens")


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    return json_object.rows(path, (_ROWS,))


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    fields.pop("question_tokens", None)
    question, image = take_text(fields, "question"), take_text(fields, _IMAGE)
    fields["id"] = fields.pop("question_id", None)
    key = take_id(fields, row, context)
    answers = fields.pop("answers", None)
    if answers is not None and not (isinstance(answers, list) and all(isinstance(one, str) for one in answers)):
        raise RowError("answers.type", "answers", f"expected a list of texts {show(answers)}.")
    split = fields.pop("set_name", None)
    yield build_question_record(
        row,
        context,
        key,
        question,
        dataset=DATASET,
        image=f"{image}.jpg",
        answers=answers or (),
        extra={**fields, _IMAGE: image},
        group=image,
        split=split if isinstance(split, str) else None,
    )


def _find_mismatch(sample: Sample) -> str | None:
    return find_listed_mismatch(sample, _ROWS, _NEEDED)


FORMAT = Format(
    summary="TextVQA's questions with ten answers each, one JSON object",
    suffixes=(".json",),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
)
