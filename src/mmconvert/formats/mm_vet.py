"""MM-Vet's questions, `mm-vet.json`: an object with an object for each question, `v1_0` and so on.

Source: yuweihao/MM-Vet mm-vet.json; haotian-liu/LLaVA@c121f04 scripts/convert_mmvet_for_eval.py, whose answers have the
number behind `v1_` as their id.

Kept: the number as `sample`, `capability` as `category` (`ocr,math`), other fields in `extra`.
Refused: rows without a question, an answer that is not a text, a capability that is not a list of texts
(`category.type`).
Lost: nothing; an image that is not available is named in a warning.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from mmconvert.chat.benchmark_questions import build_question_record, find_keyed_mismatch, take_text
from mmconvert.core.errors import RowError, show
from mmconvert.core.record import Record
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.io import json_object
from mmconvert.plugins.format import Context, Format, Sample

DATASET = "MM-Vet"
_KEY, _START = "#key", "v1_"
_NEEDED = ("imagename", "question", "answer", "capability")


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    return json_object.read_keyed_rows(path, _KEY, "question")


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    key, question = str(fields.pop(_KEY)), take_text(fields, "question")
    image, answer, kinds = (fields.pop(name, None) for name in _NEEDED[:1] + _NEEDED[2:])
    if answer is not None and not isinstance(answer, str):
        raise RowError("answer.type", "answer", f"expected a text {show(answer)}.")
    if not isinstance(kinds, list) or not all(isinstance(kind, str) for kind in kinds):
        raise RowError("category.type", "capability", f"expected a list of texts {show(kinds)}.")
    image = image if isinstance(image, str) else None
    record = build_question_record(
        row,
        context,
        key,
        question,
        dataset=DATASET,
        image=image,
        answer=answer,
        extra={**fields, "imagename": image},
        category=",".join(kinds),
    )
    yield replace(record, sample=key.removeprefix(_START))


def _find_mismatch(sample: Sample) -> str | None:
    return find_keyed_mismatch(sample, _NEEDED)


FORMAT = Format(
    summary="MM-Vet's questions, one JSON object with an object for each",
    suffixes=(".json",),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
)
