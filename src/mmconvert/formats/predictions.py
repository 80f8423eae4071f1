"""Any table with `id` and `prediction`: parquet, JSONL, TSV or CSV.

Columns of the project's schema are read under their own names, everything else is kept in `extra`; where there is
no column `options`, columns A, B, C, ... hold an option each. A number as prediction becomes its text; "" is an
answer, an empty or NaN cell is none and is refused.

Kept: columns without a place in `extra`.
Refused: rows without id or prediction, values of another type; a file without the two columns refuses all.
Lost: turns and images of a predictions file; the prompt is made from the question only.
"""

import contextlib
import math
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from mmconvert.chat.losses import list_losses
from mmconvert.core.errors import Error, RowError, in_field, show
from mmconvert.core.json_values import convert_to_json
from mmconvert.core.record import SCHEMA, Part, Record, Turn, encode_json
from mmconvert.core.rows import DELIMITERS, Rejected, Row, Span
from mmconvert.core.text.json import parse_json
from mmconvert.core.text.literals import looks_like_list, parse_list
from mmconvert.core.text.options import gather_lettered_options, list_letter_columns, read_option_texts, require_several
from mmconvert.dataset.write_parquet import write_parquet
from mmconvert.io import jsonl, parquet, tables
from mmconvert.io.columns import keep_json_fields
from mmconvert.io.parquet import open_parquet
from mmconvert.io.write_delimited import write_rows
from mmconvert.kits.vlmevalkit.lmu_table import is_result
from mmconvert.plugins.format import Context, Format, Loss, Sample, Target

REQUIRED = ("id", "prediction")
_TEXTS = ("question", "hint", "category", "l2_category", "split", "dataset", "subset", "sample", "group")
_NUMBERS = ("variant", "round")


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        _require_columns(path)
        return parquet.rows(path, span)
    if suffix in DELIMITERS:
        tables.require(path, REQUIRED)
        return tables.rows(path, span)
    return jsonl.rows(path, span)


def _require_columns(path: Path) -> None:
    schema = open_parquet(path).schema_arrow
    tables.require_columns(str(path), [(name,) for name in REQUIRED], schema.names)
    for name in REQUIRED:
        kind = schema.field(name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
        if pa.types.is_nested(kind) or pa.types.is_temporal(kind) or binary:
            raise Error(f"{path} {name}: expected texts or numbers, the column holds {kind}. Write them so.")


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    key = _read_id(fields.pop("id", None))
    prediction = _read_text(fields.pop("prediction", None), "prediction")
    if prediction is None:
        raise RowError("prediction.missing", "prediction", 'the row has no prediction ("" would be one).')
    texts = {name: _read_text(fields.pop(name, None), name) for name in _TEXTS}
    numbers = {name: _read_integer(fields.pop(name, None), name) for name in _NUMBERS}
    with in_field("options"):
        options = read_option_texts(raw) if (raw := fields.pop("options", None)) else _take_letter_columns(fields)
    if not context.for_scoring:
        require_several(options, "A")
    answer = fields.pop("answer", None)
    label = _read_label(fields.pop("label", None), answer)
    answers = _read_answers(fields.pop("answers", None), answer)
    task = context.task or _read_text(fields.pop("task", None), "task") or ("multiple_choice" if options else "vqa")
    question = texts.pop("question")
    extra = {**_read_extra(fields.pop("extra", None)), **{n: v for n, v in fields.items() if n not in SCHEMA.names}}
    yield Record(
        id=key.strip(),
        sample=texts.pop("sample") or key.strip(),
        messages=(Turn("user", (Part("text", question),)),) if question is not None else (),
        task=task,
        source=context.source(row),
        question=question,
        options=options,
        answer=answers[0] if answers else None,
        answers=answers,
        label=label,
        dataset=context.dataset or texts.pop("dataset"),
        subset=context.subset or texts.pop("subset"),
        extra=keep_json_fields(extra, context),
        prediction=prediction,
        **{name: value for name, value in texts.items() if name not in ("dataset", "subset")},  # type: ignore[arg-type]
        **numbers,  # type: ignore[arg-type]
    )


def _read_id(value: Any) -> str:
    key = value if isinstance(value, str) else _read_text(value, "id")
    if key is None or not key.strip():
        raise RowError("id.missing", "id", "the row has no id.")
    whole = isinstance(value, Decimal) and value.as_tuple().exponent == 0
    if not isinstance(value, str | int) and not whole:
        # 12.0 would not be the 12 of the other table, and large ones are no longer what they were.
        raise RowError("id.type", "id", f"expected a text or an integer {show(value)}.")
    return key


def _take_letter_columns(fields: dict[str, Any]) -> tuple[str | None, ...]:
    """Take options that have a column each; an empty cell is no option."""
    cells = [_read_text(fields.pop(letter), letter) for letter in list_letter_columns(fields)]
    return gather_lettered_options(cell or None for cell in cells)


def _read_label(value: Any, answer: Any) -> str | None:
    """Read the reference as a table of ours has it, as JSON; a text that is none stands for itself."""
    if isinstance(value, str):
        with contextlib.suppress(RowError):
            return encode_json(parse_json(value))
    value = answer if value is None else value
    try:
        return None if value is None else encode_json(convert_to_json(value))
    except (TypeError, ValueError):
        raise RowError("label.type", "label", f"expected a value that JSON can hold {show(value)}.") from None


def _read_extra(value: Any) -> dict[str, Any]:
    """Open the `extra` of a table of ours, an object as JSON; anything else is a field of that name."""
    if isinstance(value, str) and value[:1] == "{":
        with contextlib.suppress(RowError):
            return dict(parse_json(value))
    return {} if value is None else {"extra": value}


def _read_text(value: Any, field: str) -> str | None:
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise RowError(f"{field}.type", field, f"expected a text or a number {show(value)}.")
    return str(value)


def _read_integer(value: Any, field: str) -> int | None:
    text = _read_text(value, field)
    if text is None:
        return None
    try:
        number = float(text)
        if not number.is_integer():
            raise ValueError
        return int(number)
    except (ValueError, OverflowError):
        raise RowError(f"{field}.type", field, f"expected a whole number {show(value)}.") from None


def _read_answers(answers: Any, answer: Any) -> tuple[str, ...]:
    if isinstance(answers, str) and answers:
        with in_field("answers"):
            answers = parse_list(answers) if looks_like_list(answers) else [answers]
    values = answers if isinstance(answers, list) else answer if isinstance(answer, list) else [answer]
    return tuple(text for value in values if (text := _read_text(value, "answer")) is not None)


def _find_mismatch(sample: Sample) -> str | None:
    if missing := sample.find_missing(REQUIRED):
        return missing
    if is_result(sample.columns):
        return "a VLMEvalKit result table: it has 'index' and option columns"
    return "it has all columns of a dataset created by mmconvert" if "image_info" in sample.columns else None


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    suffix = target.path.suffix.lower()
    if suffix == ".parquet":
        _write_parquet(records, target.path)
    else:
        write_rows(lambda: map(_build_fields, records), target, REQUIRED)
    for record in records:
        if record.images:
            yield Loss(record.id, "images", "a predictions table holds no images")
        if len(record.messages) > 1:
            yield Loss(record.id, "messages", "only the question has a place")
        yield from list_losses(record, (*_TEXTS, *_NUMBERS, "options", "prediction"), target)
        for name in SCHEMA.names:
            if record.extra.get(name) is not None:
                yield Loss(record.id, name, "the format has another use for the field", remark=True)
        if record.prediction is None:
            yield Loss(record.id, "prediction", "there is none, and a reader rejects such a row")
        if record.prediction == "" and suffix in DELIMITERS:
            yield Loss(record.id, "prediction", 'an empty cell is not a prediction; .jsonl and .parquet hold ""')


def _write_parquet(records: Iterable[Record], path: Path) -> None:
    """Write columns of texts, numbers and lists; what else `extra` holds stands as JSON text, as in a TSV."""
    found = dict.fromkeys(name for record in records for name in _build_fields(record))
    types = {**dict.fromkeys(_NUMBERS, pa.int32()), **dict.fromkeys(("options", "answers"), pa.list_(pa.string()))}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in dict.fromkeys((*REQUIRED, *found))])

    def cell(name: str, value: Any) -> Any:
        return value if name in types or value is None or isinstance(value, str) else encode_json(value)

    rows = ({name: cell(name, value) for name, value in _build_fields(record).items()} for record in records)
    write_parquet(rows, schema, path)


def _build_fields(record: Record) -> dict[str, Any]:
    fields = {
        "id": record.id,
        "prediction": record.prediction,
        **{name: getattr(record, name) for name in (*_TEXTS, *_NUMBERS)},
        "options": list(record.options) or None,
        "answer": record.answer,
        "answers": list(record.answers) or None,
        "label": record.label,
        "task": record.task,
        **{name: value for name, value in record.extra.items() if name not in SCHEMA.names},
    }
    return {name: value for name, value in fields.items() if value is not None}


FORMAT = Format(
    summary="Any table with id and prediction",
    suffixes=(".parquet", ".jsonl", ".tsv", ".csv"),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    cuttable=True,
)
