"""MMTrustEval (MultiTrust): samples, and the logs of its task runner.

A sample has `text`, `target`, `extra` and, with an image, `image_path` (TxtSample, ImageTxtSample as
`to_dict` gives them); a file is an array of samples. A log is an object whose `per_sample_results` list
`content` (a text, or a text with `image_path`), `pred`, `label`, `extra` and one column an evaluator. The
runner leaves out a column in which nothing is true, so a log without `pred` holds empty answers. Logs give
rows without images. A log is of the dataset of the framework that its file is named after, as the framework's own
runs and
task files name them. Source: thu-ml/MMTrustEval@a067801 mmte/utils/dataclass.py, mmte/tasks/base.py.

Kept: evaluator columns and `extra` in `extra`, a log's image path in `extra.image_path`.
Refused: a text, label or response of another type (`text.type`, `label.type`, `pred.type`), an image that is
missing.
Lost: the log's summary (`total_results`), named in a warning.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from mmconvert.chat.export_images import drop_records_without_bytes, write_image_path
from mmconvert.chat.losses import list_losses
from mmconvert.core.errors import RowError, in_field, show
from mmconvert.core.record import Record
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.core.text.turns import find_last_user_turn, join_texts, list_last_turn_images
from mmconvert.io import json_array, json_object
from mmconvert.io.columns import add_extra, build_own_id, keep_extra_fields, number_records, read_letter_or_label
from mmconvert.io.json_head import is_object
from mmconvert.io.number_files import keep_numbers
from mmconvert.io.write_delimited import write_json_array, write_json_object
from mmconvert.kits.mmtrusteval.datasets import LOGS, NAMES
from mmconvert.kits.mmtrusteval.samples import sample_record
from mmconvert.plugins.format import Context, Format, Framework, Loss, Sample, StatedNumbers, Target

RESULTS, SUMMARY = "per_sample_results", "total_results"
IMAGE_PATH = "image_path"
_LOGGED = "#logged"  # tells `_read_records` that a row stood in a log; no field of a source begins so


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    if not is_object(path):
        yield from json_array.rows(path)
        return
    remarks = (f"the summary of the log ({SUMMARY}) is not kept; scoring computes it from the rows",)
    for number, item in enumerate(json_object.rows(path, (RESULTS,), nan=True)):
        if isinstance(item, Row):
            item = Row({**item.fields, _LOGGED: True}, item.where, remarks if number == 0 else ())
        yield item


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    logged = fields.pop(_LOGGED, False) or "content" in fields
    text, path = _read_content(fields, logged)
    image = None
    if path is not None and not logged:
        with in_field(IMAGE_PATH):
            image = context.images.of_reference(path, 1)
    prediction = None
    if logged:
        prediction = fields.pop("pred", fields.pop("response", None))
        prediction = "" if prediction is None else prediction
        if not isinstance(prediction, str):
            raise RowError("pred.type", "pred", f"expected a text {show(prediction)}.")
    label = fields.pop("label" if logged and "label" in fields else "target", None)
    extra = keep_extra_fields(fields)
    if logged and path is not None:
        extra[IMAGE_PATH] = path
    dataset = LOGS.get(row.where.stem) if logged else None
    values = {"text": text, "image": image, "label": label, "extra": extra}
    yield sample_record(row, context, **values, dataset=dataset, prediction=prediction)


def _read_content(fields: dict[str, Any], logged: bool) -> tuple[str | None, str | None]:
    """Take text and image path out of a row; a log may lack both."""
    if not logged:
        value: Any = {"text": fields.pop("text", None), IMAGE_PATH: fields.pop(IMAGE_PATH, None)}
    else:
        value = fields.pop("content", None)
    if logged and (value is None or isinstance(value, str)):
        return value, None
    text, path = (value.get("text"), value.get(IMAGE_PATH)) if isinstance(value, Mapping) else (value, None)
    if not isinstance(text, str):
        name = "content" if logged else "text"
        raise RowError(f"{name}.type", name, f"expected a text {show(text)}.")
    if path is not None and not isinstance(path, str):
        raise RowError("image.type", IMAGE_PATH, f"expected a path {show(path)}.")
    return text, path


def _find_mismatch(sample: Sample) -> str | None:
    if RESULTS in sample.columns or ("content" in sample.columns and "target" in sample.columns):
        return None
    missing = sample.find_missing(("text", "target"), "field")
    return f"{missing}, and no {RESULTS}" if missing else None


_HELD = ("options", "attachments", "category", "sample")


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    losses: list[Loss] = []
    stream = iter(records)
    first = next(stream, None)
    every = chain([] if first is None else [first], stream)
    if first is None or first.prediction is None:
        kept = drop_records_without_bytes(every, losses, lambda record: list_last_turn_images(record)[:1])
        write_json_array((_sample(record, target, losses) for record in number_records(kept)), target.path)
    else:
        rows = (_build_result(record, target, losses) for record in number_records(_drop_unanswered(every, losses)))
        write_json_object({SUMMARY: {}}, RESULTS, rows, target.path)
    yield from dict.fromkeys(losses)


def _drop_unanswered(records: Iterable[Record], losses: list[Loss]) -> Iterator[Record]:
    for record in records:
        if record.prediction is None:
            # A log's row without `pred` is an empty answer.
            losses.append(Loss(record.id, "prediction", "there is none; the row is left out", left_out=True))
        else:
            yield record


def _sample(record: Record, target: Target, losses: list[Loss]) -> dict[str, Any]:
    if len(record.images) > 1 or record.attachments:
        losses.append(Loss(record.id, "images", "a sample holds one image"))
    losses += list_losses(record, _HELD, target)
    image = next(iter(list_last_turn_images(record)), None)
    path = {} if image is None else {IMAGE_PATH: write_image_path(image, target)}
    fields = {**path, "text": _build_question(record, losses), "target": read_letter_or_label(record)}
    return add_extra(fields, _build_extra(record), {"content", IMAGE_PATH}, record, losses)


def _build_result(record: Record, target: Target, losses: list[Loss]) -> dict[str, Any]:
    extra = _build_extra(record)
    text, path = _build_question(record, losses), extra.pop(IMAGE_PATH, None)
    losses += list_losses(record, (*_HELD, "prediction"), target)
    if record.images or record.attachments:
        losses.append(Loss(record.id, "images", "a log names images and holds none"))
    content = text if path is None else {IMAGE_PATH: path, "text": text}
    label = read_letter_or_label(record)
    fields = {"content": content if record.messages else None, "pred": record.prediction, "label": label}
    fields = {name: value for name, value in fields.items() if value is not None}
    # A log's row may have `target` beside `label`, which goes first.
    taken = {"content", "pred", "response", "label", *(() if "label" in fields else ("target",))}
    return add_extra(fields, extra, taken, record, losses)


def _build_question(record: Record, losses: list[Loss]) -> str:
    at = find_last_user_turn(record)
    if build_own_id(record):
        losses.append(Loss(record.id, "id", "samples are known by their order", remark=True))
    if len(record.messages) > 1:
        losses.append(Loss(record.id, "messages", "a sample is a single turn"))
    if record.options:
        losses.append(
            Loss(
                record.id,
                "options",
                "the format has no options field; the options stay in the prompt text",
                remark=True,
            )
        )
    if at is None:
        return ""
    if "image" in [part.type for part in record.messages[at].content[1:]]:
        losses.append(Loss(record.id, "messages", "a sample's image comes before its text"))
    return join_texts(record.messages[at])


def _build_extra(record: Record) -> dict[str, Any]:
    if record.category is None or "extra" in record.extra:
        return dict(record.extra)
    return {"extra": {"subset": record.category}, **record.extra}


def _read_totals(path: Path) -> StatedNumbers | None:
    """Read the summary of a log; a number that is none stands there as NaN."""
    if not is_object(path):
        return None
    totals = json_object.read_members(path, (RESULTS,), nan=True).get(SUMMARY)
    found = {key: math.nan if value is None else value for key, value in totals.items()} if totals else {}
    return StatedNumbers("the file", keep_numbers(found)) if found else None


FORMAT = Format(
    summary="MMTrustEval samples and logs",
    suffixes=(".json",),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    images=("files", "original"),
    framework=Framework("MMTrustEval", results=True, knows=NAMES.__contains__),
    read_numbers=_read_totals,
)
