"""LMUData TSV, VLMEvalKit's table: `index`, `question`, `image` or `image_path`, options A, B, ...

What the columns mean stands in `mmconvert.lmu_table`; here is what the benchmarks' names add.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mmconvert import lmu_table
from mmconvert.exported_images import as_files, base64_text, stored_file
from mmconvert.format import Context, Format, Loss, Sample, Target
from mmconvert.record import LETTERS, Record, canonical_json
from mmconvert.sources import Rejected, Row, Span
from mmconvert.sources.jsonl import parse_json
from mmconvert.table_writer import TableWriter
from mmconvert.tables import HEADERS, respell

TASKS = {
    "MME": "yes_no",
    "POPE": "yes_no",
    "HallusionBench": "yes_no",
    "AMBER": "yes_no",
    "COCO_VAL": "caption",
    "OCRBench": "ocr",
    "OCRVQA_TEST": "vqa",
    "OCRVQA_TESTCORE": "vqa",
    "TextVQA_VAL": "vqa",
    "ChartQA_TEST": "vqa",
    "DocVQA_VAL": "vqa",
    "DocVQA_TEST": "vqa",
    "InfoVQA_VAL": "vqa",
    "MMVet": "vqa",
    "CORE_MM": "vqa",
    "MMBench_DEV_EN": "multiple_choice",
    "MMBench_DEV_CN": "multiple_choice",
    "MMBench_TEST_EN": "multiple_choice",
    "MMBench_TEST_CN": "multiple_choice",
    "CCBench": "multiple_choice",
    "SEEDBench_IMG": "multiple_choice",
    "MMMU_DEV_VAL": "multiple_choice",
    "MMStar": "multiple_choice",
}
"""Task of the benchmarks whose table does not show it; a file of exactly this name is that benchmark."""

CAPTION_PROMPT = (
    "Please describe this image in general. Directly provide the description, "
    'do not include prefix like "This image depicts". '
)
"""Prompt of COCO_VAL, whose table has no question. Source: VLMEvalKit@e8e78f0 vlmeval/dataset/image_caption.py."""


def _rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    return lmu_table.rows(path, span, [("index",), ("image", "image_path")])


def _records(row: Row, context: Context) -> Iterable[Record]:
    dataset = context.dataset or next((n for n in [Path(row.where.file).stem] if n in TASKS), None)
    task = context.task or TASKS.get(dataset or "")
    yield lmu_table.record(row, context, dataset=dataset, task=task, caption_prompt=CAPTION_PROMPT)


def _mismatch(sample: Sample) -> str | None:
    found = respell(dict.fromkeys(sample.columns), lmu_table.WORDS)[0]
    if "index" not in found:
        return "no column 'index'"
    if "image" not in found and "image_path" not in found:
        return "no column 'image' or 'image_path'"
    return None


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    losses: list[Loss] = []
    first = ("index", "question", "hint", *LETTERS, "answer", "category", "l2-category", "split")
    with TableWriter(target, first) as table:
        table.write_all(lambda: (_fields(record, target, losses) for record in records))
    yield from dict.fromkeys(losses)


def _fields(record: Record, target: Target, losses: list[Loss]) -> dict[str, Any]:
    extra = dict(record.extra)
    headers = extra.pop(HEADERS, {})
    images = sorted({i.slot: i for i in (*record.images, *record.attachments)}.values(), key=lambda i: i.slot)
    if len(record.messages) > 1:
        losses.append(Loss(record.id, "messages", "only the last user turn has a place"))
    fields: dict[str, Any] = {
        "index": record.sample if record.variant is None else record.id,
        "question": record.question,
        "hint": record.hint,
        **dict(zip(LETTERS, record.options, strict=False)),
        "answer": None if record.label is None else parse_json(record.label),
        "category": record.category,
        "l2-category": record.l2_category,
        "split": record.split,
    }
    names = [image.name for image in images if image.name is not None]
    if as_files(images, target):
        names = [stored_file(image, target) for image in images]
    else:
        fields["image"] = _one_or_list([base64_text(image) for image in images])
    fields["image_path"] = _one_or_list(names)
    if isinstance(fields["answer"], list | dict | int | float):
        fields["answer"] = canonical_json(fields["answer"])
    return {headers.get(name, name): value for name, value in {**fields, **extra}.items()}


def _one_or_list(values: list[str]) -> str | list[str] | None:
    return values[0] if len(values) == 1 else values or None


FORMAT = Format(
    summary="LMUData TSV with base64 pictures (VLMEvalKit)",
    suffixes=(".tsv", ".csv"),
    rows=_rows,
    records=_records,
    mismatch=_mismatch,
    write=_write,
    cuttable=True,
)
