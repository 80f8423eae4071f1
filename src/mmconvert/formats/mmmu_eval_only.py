"""MMMU's files for "evaluation only": one JSON object of id and final answer, and the key that it is scored with.

Model: `{"validation_Art_1": "A", "validation_Art_9": "a red door"}`. Key: `{"validation_Art_1": {"question_type":
"multiple-choice", "ground_truth": "B"}}`, to be given as `--answers`. Source: MMMU-Benchmark/MMMU@bb0b95a
mmmu/main_eval_only.py, mmmu/example_outputs/llava1.5_13b_val.json, mmmu/answer_dict_val.json.

Kept: `question_type` and other fields of the key in `extra`.
Refused: values that are neither a text, null, nor an object (`prediction.type`), a key without `ground_truth`
(`answer.missing`).
Lost: nothing; the files hold no questions, options or images.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mmconvert.core.errors import RowError, show
from mmconvert.core.record import Record, encode_json
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.io import json_head, json_object
from mmconvert.io.columns import keep_extra_fields
from mmconvert.kits.mmmu.subjects import DATASET, DOMAIN_OF, MULTIPLE_CHOICE, parse_split, parse_subject, read_answers
from mmconvert.plugins.format import Context, Format, Framework, Sample

_ID, _RESPONSE, _KIND, _REFERENCE = "id", "response", "question_type", "ground_truth"


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    return json_object.read_keyed_rows(path, _ID, _RESPONSE)


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    key = str(fields.pop(_ID)).strip()
    is_response = _RESPONSE in fields
    response, reference = fields.pop(_RESPONSE, None), fields.pop(_REFERENCE, None)
    if is_response and response is not None and not isinstance(response, str):
        raise RowError("prediction.type", key, f"expected the final answer, a text {show(response)}.")
    if not is_response and reference is None:
        raise RowError("answer.missing", _REFERENCE, f"expected the reference of the question {show(reference)}.")
    answers = read_answers(reference, _REFERENCE)
    is_choice = fields.get(_KIND) == MULTIPLE_CHOICE
    subject = parse_subject(key)
    yield Record(
        id=key,
        sample=key,
        messages=(),
        task=context.task or ("multiple_choice" if is_choice else "vqa"),
        source=context.source(row),
        answer=answers[0] if answers else None,
        answers=answers,
        label=None if reference is None else encode_json(reference),
        category=subject if subject in DOMAIN_OF else None,
        split=parse_split(key),
        dataset=context.dataset or DATASET,
        subset=context.subset,
        extra=keep_extra_fields(fields),
        prediction=response,
    )


def _find_mismatch(sample: Sample) -> str | None:
    if not json_head.is_object(sample.path) or len(sample.rows) != 1:
        return "no object of ids and answers"
    members = sample.rows[0]
    if not any(parse_subject(key) in DOMAIN_OF for key in members):
        return "no id is MMMU's, such as validation_Art_1"
    return None if all(map(_is_entry, members.values())) else "the values are neither texts nor references"


def _is_entry(value: Any) -> bool:
    return (
        value is None or isinstance(value, str) or (isinstance(value, dict) and _REFERENCE in value and _KIND in value)
    )


FORMAT = Format(
    summary="MMMU's final answers, one JSON object of id and answer, and the key they are scored with",
    suffixes=(".json",),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    framework=Framework("MMMU", results=True, knows=DATASET.__eq__),
)
