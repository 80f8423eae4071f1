"""HallusionBench's questions, `HallusionBench.json`, and its results, which have `model_prediction` besides.

An id is put together as VLMEvalKit's index is, of category, subcategory, visual input, set, figure and question, by
which figures and questions are scored together. `gt_answer` is 1 for yes and 0 for no. Source:
tianyi-lab/HallusionBench HallusionBench.json, utils.py; open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/yorn.py.

Kept: `subcategory` as `l2_category`, `gt_answer_details`, `filename` and other fields in `extra`.
Refused: rows without a question or one of the fields of the id, a `gt_answer` other than 0 and 1 (`answer.type`).
Lost: nothing; an image that is not available is named in a warning.
"""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from mmconvert.chat.benchmark_questions import build_question_record, take_text
from mmconvert.core.errors import RowError, show
from mmconvert.core.record import Record
from mmconvert.core.rows import Row
from mmconvert.io.row_files import read_rows
from mmconvert.plugins.format import Context, Format, Sample

DATASET = "HallusionBench"
PLACES = ("category", "subcategory", "visual_input", "set_id", "figure_id", "question_id")
"""Fields of the id, in order."""

_ANSWERS = {"1": "Yes", "0": "No"}
_PREDICTION = "model_prediction"


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields: dict[str, Any] = dict(row.fields)
    question = take_text(fields, "question")
    places = [fields.pop(name, None) for name in PLACES]
    for name, value in zip(PLACES, places, strict=True):
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise RowError("id.type", name, f"expected a text or an integer {show(value)}.")
    label, prediction = fields.pop("gt_answer", None), fields.pop(_PREDICTION, None)
    answer = None if label is None else _ANSWERS.get(str(label).strip())
    if answer is None and label is not None:
        raise RowError("answer.type", "gt_answer", f"expected 1 for yes or 0 for no {show(label)}.")
    if prediction is not None and not isinstance(prediction, str):
        raise RowError("prediction.type", _PREDICTION, f"expected a text {show(prediction)}.")
    image = fields.get("filename")
    record = build_question_record(
        row,
        replace(context, task=context.task or "yes_no"),
        "_".join(map(str, places)),
        question,
        dataset=DATASET,
        image=image if isinstance(image, str) and image and prediction is None and not context.for_scoring else None,
        answer=answer,
        extra=fields,
        category=str(places[0]),
    )
    yield replace(record, l2_category=str(places[1]), prediction=prediction)


def _find_mismatch(sample: Sample) -> str | None:
    return sample.find_missing((*PLACES, "question"), "field")


FORMAT = Format(
    summary="HallusionBench's questions and results, JSON",
    suffixes=(".json", ".jsonl"),
    rows=read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
)
