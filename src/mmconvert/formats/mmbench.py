"""MMBench: the question table (TSV, both packagings) and the submission workbook (xlsx).

The TSV is VLMEvalKit's table; in its packaging a rotated copy names the row whose image it shares,
in the legacy one every row has its image. Rotation k of question i has the index i + k * 1,000,000.
The workbook has the columns question, A, B, C, D, prediction, category, l2_category and index. Source:
open-compass/MMBench@20faed3 README, MMBench evaluation (the pipeline's document).

Kept: columns without a place in `extra`; of a workbook, formulas and dates in such columns as their text, and a blank
prediction as an empty response.
Refused: as `lmudata`; in a workbook a formula, an error or a date in a column that counts.
Lost: sheets behind the first, named in a warning.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mmconvert.chat.losses import list_losses
from mmconvert.core.errors import Error, UsageError, suggest_spelling
from mmconvert.core.record import LETTERS, Record
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.core.text.options import require_several
from mmconvert.io import xlsx
from mmconvert.io.columns import HEADERS, respell
from mmconvert.io.write_xlsx import CELL_LENGTH, count_utf16_units, write_workbook
from mmconvert.kits.vlmevalkit import lmu_table
from mmconvert.kits.vlmevalkit.datasets import NAMES
from mmconvert.kits.vlmevalkit.lmu_table import TableSettings, build_index_cell, list_index_columns
from mmconvert.plugins.format import Context, Format, Framework, Loss, Sample, Target

WORKBOOK = ".xlsx"
REQUIRED = ("index", "question", "A", "prediction")
"""What a workbook must have; the rest of the submission's columns only tell groups apart."""

NEEDED = {"index", "question", "hint", *LETTERS, "answer", "prediction", "category", "l2-category", "split"}
SUBMISSION = ("question", "A", "B", "C", "D", "prediction", "category", "l2_category", "index")
COLUMNS = {"submission": SUBMISSION, "server": ("index", *SUBMISSION[:7], "l2-category", "answer", "split", "hint")}
"""Column sets of a written workbook: the document's, and the one the server's own checks ask for."""

DATASETS = (
    *(f"MMBench_{part}_{tongue}" for part in ("DEV", "TEST") for tongue in ("EN", "EN_V11", "CN", "CN_V11")),
    *("MMBench", "MMBench_CN", "MMBench_V11", "MMBench_CN_V11", "CCBench"),
)
"""A file of exactly this name is that benchmark."""


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    if path.suffix.lower() != WORKBOOK:
        return lmu_table.read_rows(path, span, [("index",), ("question",), ("image", "image_path", "prediction")])
    found = _list_respelled_names(xlsx.read_header(path))
    missing = [name for name in REQUIRED if name not in found]
    if missing:
        names = ", ".join(map(repr, xlsx.list_sheets(path)))
        raise Error(
            f"{path} {', '.join(missing)}: the first sheet has no such column.{suggest_spelling(missing[0], found)} "
            f"Found: {', '.join(list(found)[:12])}. Sheets: {names}; only the first is read, its header first."
        )
    return xlsx.rows(
        path,
        span,
        needed=lambda name: bool(NEEDED & {*_list_respelled_names([name])}),
        ids=lambda name: "index" in _list_respelled_names([name]),
    )


def _list_respelled_names(names: Iterable[str]) -> dict[str, Any]:
    return respell(dict.fromkeys(names), lmu_table.WORDS)[0]


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    is_result = "prediction" in row.fields
    prediction = row.fields.get("prediction") or ""
    if is_result:
        row = replace(row, fields={**row.fields, "prediction": prediction})
    if CELL_LENGTH in (len(prediction), count_utf16_units(prediction)):
        context.warn(f"a prediction has {CELL_LENGTH:,} characters, the most a cell holds: its end may be missing")
    dataset = context.dataset or next((name for name in DATASETS if name == row.where.stem), None)
    is_workbook = row.where.file.lower().endswith(WORKBOOK)
    how = TableSettings(dataset, context.task, is_result=is_result, circular=True)
    record = lmu_table.build_record(row, context, how)
    if not context.for_scoring:
        require_several(record.options, "A", choice=is_workbook)
    yield record


def _find_mismatch(sample: Sample) -> str | None:
    found = _list_respelled_names(sample.columns)
    if sample.suffix != WORKBOOK and ("image" in found or "image_path" in found):
        return "a table with images, read as lmudata"
    missing = [name for name in REQUIRED if name not in found]
    if missing:
        return f"no column {missing[0]!r}"
    return None if "l2_category" in sample.columns else "no column 'l2_category'"


_FEWEST = 2
"""Options that a reader of the workbook demands."""

_CELLS = ("options", "category", "l2_category", "prediction", "hint", "split")
"""Columns that have a cell, or whose loss is named with the cells."""


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    if target.path.suffix.lower() != WORKBOOK:
        raise UsageError("MMBench's submission is an .xlsx file; for the question table use --to lmudata.")
    columns = COLUMNS[target.columns or "submission"]
    losses: list[Loss] = []

    def rows() -> Iterator[Mapping[str, str | None]]:
        for record in records:
            if sum(map(bool, record.options)) < _FEWEST:
                message = f"the format needs {_FEWEST} or more; the row is left out"
                losses.append(Loss(record.id, "options", message, left_out=True))
                continue
            losses.extend(_list_losses(record, columns, target))
            yield _build_cells(record)

    write_workbook(target.path, columns, rows())
    yield from losses


def _build_cells(record: Record) -> dict[str, str | None]:
    return {
        "index": build_index_cell(record),
        "question": record.question,
        **dict(zip(LETTERS, record.options, strict=False)),
        "prediction": record.prediction,
        "category": record.category,
        "l2_category": record.l2_category,
        "l2-category": record.l2_category,
        "split": record.split,
        "hint": record.hint,
    }


def _list_losses(record: Record, columns: Collection[str], target: Target) -> Iterator[Loss]:
    if record.prediction is None:
        yield Loss(record.id, "prediction", "there is none, the cell stays blank")
    elif not record.prediction:
        yield Loss(record.id, "prediction", "it is empty, the cell stays blank")
    if any(option is not None for option in record.options[4:]):
        yield Loss(record.id, "options", "only A to D have a column")
    if record.images:
        yield Loss(record.id, "images", "a submission holds no images")
    if len(record.messages) > 1:
        yield Loss(record.id, "messages", "only the question has a place")
    if record.answer is not None:
        yield Loss(record.id, "answer", "a submission holds no answers", remark=True)
    yield from list_losses(record, (*_CELLS, *list_index_columns(record)), target)
    fields = {"hint": record.hint, "split": record.split, **record.extra}
    for name in fields:
        if name not in (*columns, HEADERS) and fields[name] is not None:
            yield Loss(record.id, name, "a submission has no such column", remark=True)


FORMAT = Format(
    summary="MMBench question TSV (both packagings) and submission xlsx",
    suffixes=(".tsv", ".csv", WORKBOOK),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    columns=tuple(COLUMNS),
    framework=Framework("VLMEvalKit", results=False, knows=NAMES.__contains__),
)
