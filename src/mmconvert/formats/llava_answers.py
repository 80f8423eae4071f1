"""LLaVA's answers: JSON Lines of `question_id`, `prompt`, `text`, `answer_id`, `model_id` and `metadata`.

LLaVA's evaluation scripts write them for every benchmark; `text` is the response, `prompt` the question as the model
saw it; scripts that grew from them leave out the last three. They hold no references: `--answers` takes the benchmark's
own file. `options` and `round_id` are MMBench's.
Where a `question_id` is that of an image and several questions have it (MME, TextVQA), no row has an id of its own:
all are numbered by place, and those with one `question_id` share a `group`. Source: haotian-liu/LLaVA@32cebc3
llava/eval/model_vqa_loader.py, model_vqa.py, model_vqa_mmbench.py.

Kept: `model_id` as `extra.model`, `answer_id`, `metadata` and other fields in `extra`.
Refused: rows without a `question_id`, a `prompt` or a `text` that is a text, options that are no list of texts.
Lost: nothing; the files hold no images.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mmconvert.core.errors import RowError, in_field, show
from mmconvert.core.record import Part, Record, Turn
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.core.text.options import read_option_texts
from mmconvert.io import jsonl
from mmconvert.io.columns import keep_extra_fields, restore_integer
from mmconvert.plugins.format import Context, Format, Sample

REQUIRED = ("question_id", "prompt", "text")
_ID, _ROUND = "question_id", "round_id"
_SHARED = "question_id of several questions"
"""Field under which `_read_rows` hands over ids that do not tell the questions of the file apart."""


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    """Read the file twice: whether ids are those of single questions is known at its end."""
    counts = Counter(_build_key(row.fields) for row in jsonl.rows(path) if isinstance(row, Row))
    shared = any(count > 1 for key, count in counts.items() if key[0] != "None")
    for row in jsonl.rows(path):
        if shared and isinstance(row, Row):
            named = {_SHARED if name == _ID else name: value for name, value in row.fields.items()}
            yield Row(named, row.where, row.remarks)
        else:
            yield row


def _build_key(fields: Mapping[str, Any]) -> tuple[str, str]:
    return str(fields.get(_ID)).strip(), str(fields.get(_ROUND))


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    shared = fields.pop(_SHARED, None)
    own = _read_id(fields.pop(_ID, None) if shared is None else shared)
    prompt, response = (_take_text(fields, name) for name in ("prompt", "text"))
    with in_field("options"):
        options = read_option_texts(raw) if (raw := fields.pop("options", None)) is not None else ()
    turn = _read_round(fields.pop(_ROUND, None))
    key = own if not turn else f"{own}#{turn}"
    if shared is not None:
        key = own = context.numbered(row)
    metadata = fields.pop("metadata", None)
    model = fields.pop("model_id", None)
    yield Record(
        id=key,
        sample=own,
        group=None if shared is None else str(shared),
        variant=turn,
        messages=(Turn("user", (Part("text", prompt),)),),
        task=context.task or ("multiple_choice" if options else "vqa"),
        source=context.source(row),
        question=prompt,
        options=options,
        dataset=context.dataset,
        subset=context.subset,
        extra=keep_extra_fields({"model": model, **fields, "metadata": metadata or None}),
        prediction=response,
    )


def _read_id(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise RowError("id.type", _ID, f"expected a text or an integer {show(value)}.")
    return str(value).strip()


def _read_round(value: Any) -> int | None:
    value = restore_integer(value)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 31):
        raise RowError("variant.type", _ROUND, f"expected a whole number {show(value)}.")
    return value


def _take_text(fields: dict[str, Any], name: str) -> str:
    value = fields.pop(name, None)
    if not isinstance(value, str):
        raise RowError(f"{name}.type", name, f"expected a text {show(value)}.")
    return value


def _find_mismatch(sample: Sample) -> str | None:
    clash = sample.find_clash(("messages", "conversations", "prediction"), "field")
    return clash or sample.find_missing(REQUIRED, "field")


FORMAT = Format(
    summary="LLaVA's answers (JSON Lines) to any benchmark",
    suffixes=(".jsonl", ".json"),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
)
