"""VLMEvalKit's result file: its question table without images, with `prediction`.

`{model}_{benchmark}.xlsx` as inference writes it (or TSV, or JSON as PRED_FORMAT says), and the files that
evaluation writes beside it; their columns (`hit`, `log`, `extracted`, `score`) stay in `extra`. Source:
open-compass/VLMEvalKit@e8e78f0 vlmeval/inference.py, vlmeval/smp/file.py.

Kept: `hit`, `log` and other columns, and the file name's model, in `extra`; a blank prediction as an empty response.
Refused: rows without index; of JSON, rows without prediction (`prediction.missing`).
Lost: nothing; the file holds no images.
"""

import glob
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mmconvert.chat.file_names import read_model_name, require_text
from mmconvert.chat.losses import list_losses
from mmconvert.core.errors import RowError, show
from mmconvert.core.record import LETTERS, Record, encode_json
from mmconvert.core.rows import DELIMITERS, Rejected, Row, Span
from mmconvert.io import json_array, jsonl, tables, xlsx
from mmconvert.io.columns import add_extra, read_letter_or_label, respell, take_headers
from mmconvert.io.number_files import flatten_table, load_table
from mmconvert.io.write_delimited import write_rows
from mmconvert.io.write_xlsx import write_workbook
from mmconvert.kits.vlmevalkit import lmu_table
from mmconvert.kits.vlmevalkit.datasets import NAMES, TASKS, parse_file_stem
from mmconvert.plugins.format import Context, Format, Framework, Loss, Sample, StatedNumbers, Target

WORKBOOK = ".xlsx"
JSON = (".json", ".jsonl")
REQUIRED = ("index", "prediction")
TEXTS = {*lmu_table.WORDS, *LETTERS, "prediction"}
"""Columns that are texts whatever the file holds, as they are in a table."""

SCORES = ("_acc.csv", "_acc.json", "_score.csv", "_score.json")
"""Endings of the files of scores, behind the stem of the result file and, of some, the judge's name."""

_FIRST_ROUNDED = 1 << 53
_SUBMISSION = {"A", "question", "l2_category"}
_FIRST = ("index", "question", "hint", *LETTERS, "answer", "category", "l2-category", "split")


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    suffix = path.suffix.lower()
    if suffix == WORKBOOK or suffix in DELIMITERS:
        found = _list_respelled_names(xlsx.read_header(path) if suffix == WORKBOOK else tables.read_header(path))
        tables.require_columns(str(path), [(name,) for name in REQUIRED], found)
    return lmu_table.mark_rotations(lambda: _read_raw_rows(path))


def _read_raw_rows(path: Path) -> Iterator[Row | Rejected]:
    suffix = path.suffix.lower()
    if suffix == WORKBOOK:
        return xlsx.rows(
            path,
            needed=lambda name: name in _list_text_columns((name,)),
            ids=lambda name: "index" in _list_respelled_names([name]),
        )
    if suffix in DELIMITERS:
        return tables.rows(path)
    return jsonl.rows(path) if suffix == ".jsonl" else json_array.rows(path)


def _list_respelled_names(names: Iterable[str]) -> dict[str, Any]:
    return respell(dict.fromkeys(names), lmu_table.WORDS)[0]


@lru_cache
def _list_text_columns(names: tuple[str, ...]) -> frozenset[str]:
    """Tell the columns of the framework's own; once for the rows of a file, which have the same names."""
    return frozenset(name for name in names if TEXTS & {*_list_respelled_names([name])})


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    texts = _list_text_columns(tuple(row.fields))
    _require_exact_index(row.fields)
    fields = {name: _format_value(value) if name in texts else value for name, value in row.fields.items()}
    if fields.get("prediction") is None:
        if row.where.file.lower().endswith(JSON):
            raise RowError("prediction.missing", "prediction", 'the row has no prediction ("" would be one).')
        fields["prediction"] = ""  # a cell cannot tell an empty response from none, and the framework scores both
    model, dataset = parse_file_stem(row.where.stem)
    dataset = context.dataset or dataset
    task = context.task or TASKS.get(dataset or "")
    how = lmu_table.TableSettings(dataset, task, is_result=True)
    record = lmu_table.build_record(replace(row, fields=fields), context, how)
    extra = {"model": model, **record.extra} if model else record.extra
    yield from lmu_table.split_rounds(replace(record, extra=extra), illustrated=False)


def _require_exact_index(fields: Mapping[str, Any]) -> None:
    """Refuse a number of JSON that is no whole one, or so large that whoever wrote a point behind it has rounded it."""
    for name, value in fields.items():
        inexact = isinstance(value, float) and not (value.is_integer() and abs(value) < _FIRST_ROUNDED)
        if inexact and "index" in _list_respelled_names([name]):
            raise RowError("id.type", name, f"expected a text or a whole number {show(value)}.")


def _format_value(value: Any) -> str | None:
    """Give a value of JSON as a table holds it; a whole number has no point."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, bool) else encode_json(value)


def _find_mismatch(sample: Sample) -> str | None:
    found = _list_respelled_names(sample.columns)
    missing = [name for name in REQUIRED if name not in found]
    if missing:
        return f"no column {missing[0]!r}"
    if not lmu_table.is_result(sample.columns):
        return "it has images" if "image" in found else "it has ids and none of the framework's own columns"
    submission = sample.suffix == WORKBOOK or (sample.suffix in DELIMITERS and "image_path" not in found)
    if submission and {*sample.columns} >= _SUBMISSION:
        return "an MMBench submission: it has a column 'l2_category'"
    return None


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    model, dataset = parse_file_stem(Path(target.name or target.path.name).stem)
    losses: list[Loss] = []

    def rows() -> Iterator[dict[str, Any]]:
        return (_build_fields(record, model, losses) for record in records)

    if target.path.suffix.lower() == WORKBOOK:
        found = dict.fromkeys(name for row in rows() for name, value in row.items() if value is not None)
        columns = [name for name in _FIRST if name in found] + [name for name in found if name not in _FIRST]
        write_workbook(target.path, columns, map(_build_cells, rows()))
    else:
        write_rows(rows, target, _FIRST)
    for record in records:
        losses += _list_losses(record, dataset, target)
    yield from dict.fromkeys(losses)


_TAKEN = {"index", "question", "hint", *LETTERS, "answer", "category", "l2-category", "split", "prediction"}


def _build_fields(record: Record, model: str | None, losses: list[Loss]) -> dict[str, Any]:
    extra = dict(record.extra)
    headers = take_headers(extra)
    if extra.get("model") == model:
        extra.pop("model", None)
    label = read_letter_or_label(record)
    fields: dict[str, Any] = {
        "index": lmu_table.build_index_cell(record),
        "question": record.question,
        "hint": record.hint,
        **dict(zip(LETTERS, record.options, strict=False)),
        "answer": encode_json(label) if isinstance(label, list | dict | int | float) else label,
        "category": record.category,
        "l2-category": record.l2_category,
        "split": record.split,
    }
    fields = {**add_extra(fields, extra, _TAKEN, record, losses), "prediction": record.prediction}
    return {headers.get(name, name): value for name, value in fields.items() if value is not None}


def _build_cells(row: Mapping[str, Any]) -> dict[str, str | None]:
    return {name: value if isinstance(value, str | None) else encode_json(value) for name, value in row.items()}


_CELLS = ("hint", "options", "category", "l2_category", "split", "prediction", "dataset")
"""Columns that have a cell, or whose loss is named here."""


def _list_losses(record: Record, dataset: str | None, target: Target) -> Iterator[Loss]:
    if record.images:
        yield Loss(record.id, "images", "a result file holds no images")
    if len(record.messages) > 1:
        yield Loss(record.id, "messages", "only the question has a place")
    if record.prediction is None:
        yield Loss(record.id, "prediction", "there is none, and the framework counts such a row as wrong")
    yield from list_losses(record, (*_CELLS, *lmu_table.list_index_columns(record)), target)
    if record.dataset != dataset and record.dataset is not None:
        yield Loss(
            record.id, "dataset", "only the file's name states it: name the file {model}_{benchmark}", remark=True
        )


def _read_scores(path: Path) -> StatedNumbers | None:
    """Read the scores that the framework's evaluation left beside a result file, those without a judge first."""
    found = [f for ending in SCORES for f in path.parent.glob(f"{glob.escape(path.stem)}*{ending}")]
    file = min((f for f in found if _is_scored_from(f, path)), key=lambda f: (len(f.name), f.name), default=None)
    return None if file is None else StatedNumbers(file.name, flatten_table(load_table(file)))


def _is_scored_from(file: Path, path: Path) -> bool:
    """Tell whether a file of scores is of these results, and not of a benchmark with a longer name."""
    _, dataset = parse_file_stem(path.stem)
    middle = file.stem.removeprefix(path.stem).rpartition("_")[0]
    if not middle or dataset is None:
        return not middle
    longer = (name for name in NAMES if len(name) > len(dataset))
    return middle.startswith("_") and not any(f"{dataset}{middle}_".startswith(f"{name}_") for name in longer)


FORMAT = Format(
    summary="VLMEvalKit result table, {model}_{benchmark}.xlsx",
    suffixes=(WORKBOOK, ".tsv", ".csv", ".json", ".jsonl"),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    file_name=lambda record: f"{read_model_name(record)}_{require_text(record.dataset, 'dataset')}.xlsx",
    framework=Framework("VLMEvalKit", results=True, knows=NAMES.__contains__),
    read_numbers=_read_scores,
)
