"""SEED-Bench's questions, `SEED-Bench.json`: an object with names of question types, and a list of questions.

Source: AILab-CVC/SEED-Bench SEED-Bench.json; haotian-liu/LLaVA@c121f04 scripts/convert_seed_for_submission.py.

Kept: the type's name as `category`, `data_type` (image or video) as `split`; `data_id`, `segment` and other fields in
`extra`.
Refused: rows without an id, a question or the four choices, an answer that is no letter of them.
Lost: nothing; an image that is not available is named in a warning, and videos are not shown.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from mmconvert.chat.benchmark_questions import build_question_record, find_listed_mismatch, take_text
from mmconvert.core.record import Record
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.core.text.options import read_answer_letter
from mmconvert.io import json_object
from mmconvert.io.columns import take_id
from mmconvert.plugins.format import Context, Format, Sample

DATASET = "SEED-Bench"
_ROWS, _TYPES, _TYPE = "questions", "question_type", "question_type_id"
_CHOICES = ("choice_a", "choice_b", "choice_c", "choice_d")
_NEEDED = (*_CHOICES, "question", "question_id", _TYPE)


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    types = json_object.read_members(path, (_ROWS,)).get(_TYPES)
    listed = types.items() if isinstance(types, dict) else ()
    names = {number: name for name, number in listed if isinstance(number, int | str)}
    for row in json_object.rows(path, (_ROWS,)):
        number = row.fields.get(_TYPE) if isinstance(row, Row) else None
        name = names.get(number) if isinstance(number, int | str) else None
        yield Row({**row.fields, _TYPES: name}, row.where, row.remarks) if isinstance(row, Row) else row


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    question, options = take_text(fields, "question"), [take_text(fields, name) for name in _CHOICES]
    fields["id"] = fields.pop("question_id", None)
    key = take_id(fields, row, context)
    answer, kind, name = (fields.pop(name, None) for name in ("answer", "data_type", _TYPES))
    image = fields.get("data_id")
    yield build_question_record(
        row,
        context,
        key,
        question,
        dataset=DATASET,
        image=image if kind == "image" and isinstance(image, str) else None,
        options=options,
        answer=None if answer is None else read_answer_letter(str(answer), options),
        extra=fields,
        split=kind if isinstance(kind, str) else None,
        category=name,
    )


def _find_mismatch(sample: Sample) -> str | None:
    return find_listed_mismatch(sample, _ROWS, _NEEDED)


FORMAT = Format(
    summary="SEED-Bench's questions, one JSON object",
    suffixes=(".json",),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
)
