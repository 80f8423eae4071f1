"""LLaVA-Bench's questions, `questions.jsonl`, with what a judge is shown of them in the files beside it.

A question has `question_id`, `image`, `category` (conv, detail, complex) and `text`. `context.jsonl` holds an image in
words, `caption`, and `answers_gpt4.jsonl` GPT-4's answer to each question; both go into `extra` under the names that
VLMEvalKit's table gives them, `caption` and `gpt4_ans`. The folder that holds the three may be named instead. Source:
liuhaotian/llava-bench-in-the-wild on the Hub; haotian-liu/LLaVA@32cebc3 llava/eval/eval_gpt_review_bench.py.

Kept: `question_id` as `sample`, the image's name, `caption`, `gpt4_ans` and other fields in `extra`.
Refused: rows without a text, with an id that is not a text or integer, an image that is missing unless they are a key.
Lost: nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmconvert.chat.benchmark_questions import build_question_record, take_text
from mmconvert.core.errors import Error, RowError, show
from mmconvert.core.record import Record
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.io import jsonl
from mmconvert.io.columns import take_id
from mmconvert.plugins.format import Context, Format, Sample
from mmconvert.storage.folders import find_listed_file, require_inside

DATASET = "LLaVA-Bench"
CATEGORIES = frozenset(("conv", "detail", "complex"))
QUESTIONS, CONTEXT, ANSWERS = "questions.jsonl", "context.jsonl", "answers_gpt4.jsonl"
_NEEDED = ("question_id", "image", "category", "text")
_CAPTION, _ANSWER = "caption", "gpt4_ans"


def _list_files(folder: Path) -> list[Path]:
    files = [folder / name for name in (QUESTIONS, CONTEXT, ANSWERS) if (folder / name).is_file()]
    return require_inside(folder, files)


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    file = _list_files(path)[0] if path.is_dir() else path
    captions = _read_beside(file, CONTEXT, "image", _CAPTION)
    answers = _read_beside(file, ANSWERS, "question_id", "text")
    lacking = [name for name, found in ((CONTEXT, captions), (ANSWERS, answers)) if not found]
    remarks = (f"{' and '.join(lacking)} beside {file.name} give a judge what it compares with",) if lacking else ()
    for item in jsonl.rows(file):
        if isinstance(item, Row):
            fields = dict(item.fields)
            for name, found, key in ((_CAPTION, captions, "image"), (_ANSWER, answers, "question_id")):
                if (text := found.get(str(fields.get(key)))) is not None:
                    fields.setdefault(name, text)
            yield Row(fields, item.where, (*remarks, *item.remarks))
            remarks = ()
        else:
            yield item


def _read_beside(file: Path, name: str, key: str, value: str) -> Mapping[str, str]:
    """Read a text for each key from a file beside another; nothing where there is none."""
    if not file.with_name(name).is_file():
        return {}
    found: dict[str, str] = {}
    for item in jsonl.rows(find_listed_file(file, name, name)):
        if isinstance(item, Rejected):
            raise Error(f"{file.with_name(name)}: {item}")
        text = item.fields.get(value)
        lines = [line for line in (text if isinstance(text, list) else [text]) if isinstance(line, str)]
        if lines:
            found[str(item.fields.get(key))] = "\n".join(lines)
    return found


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields: dict[str, Any] = dict(row.fields)
    question, image, category = take_text(fields, "text"), take_text(fields, "image"), fields.pop("category", None)
    if not isinstance(category, str):
        raise RowError("category.type", "category", f"expected a text {show(category)}.")
    fields["id"] = fields.pop("question_id", None)
    key = take_id(fields, row, context)
    yield build_question_record(
        row,
        context,
        key,
        question,
        dataset=DATASET,
        image=None if context.for_scoring else image,
        image_needed=True,
        extra={**fields, "image": image},
        category=category,
    )


def _find_mismatch(sample: Sample) -> str | None:
    if sample.path.is_dir():
        return None if _is_bench_folder(sample.path) else f"no folder with {QUESTIONS}, {CONTEXT} and {ANSWERS}"
    clash = sample.find_clash(("conversations", "messages", "answer", "answers", "label"), "field")
    missing = clash or sample.find_missing(_NEEDED, "field")
    return missing or _find_other_category(sample.rows)


def _is_bench_folder(folder: Path) -> bool:
    return all((folder / name).is_file() for name in (QUESTIONS, CONTEXT, ANSWERS))


def _find_other_category(rows: Sequence[Mapping[str, Any]]) -> str | None:
    other = next((row.get("category") for row in rows if row.get("category") not in CATEGORIES), None)
    return None if other is None else "no category of LLaVA-Bench"


FORMAT = Format(
    summary="LLaVA-Bench's questions (JSON Lines), with GPT-4's answers beside them",
    suffixes=("", ".jsonl", ".json"),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    files=_list_files,
)
