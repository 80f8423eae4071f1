"""EvalScope's replies: `predictions/{model}/{benchmark}_{subset}.jsonl`, one `model_output` a line.

The lines hold the messages that were sent, with pictures that were sent as data, and no references: those
come from the dataset (`--answers`), whose rows stand in the order of `index`. Source: modelscope/evalscope
1.3.0 to 1.14.1 evalscope/api/evaluator/cache.py:ModelResult.

Kept: the whole `model_output` in `extra`; what the messages hold and is not at hand in `extra.unseen`.
Refused: rows without an integer `index` (`id.missing`), a `model_output` without choices (`prediction.type`).
Lost: all but the last of several rows with one index, as in the kit.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mmconvert.core.errors import RowError, got
from mmconvert.core.record import Record
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.io.columns import rest
from mmconvert.kits.evalscope.outputs import index_of, last_rows, options_in, place_of, prompt_of, text_of
from mmconvert.plugins.format import Context, Format, Sample

REQUIRED = ("index", "model_output")


def _rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    return last_rows(path)


def _records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    index = index_of(fields)
    replies = _replies(fields.get("model_output"))
    prompt = prompt_of(fields.pop("messages", None), context)
    dataset, subset = place_of(row, context)
    options = options_in(prompt.question or "")
    key = f"{context.id_prefix}{index}"
    extra = rest(fields)
    if prompt.unseen:
        extra["unseen"] = list(prompt.unseen)
    for number, reply in enumerate(replies):
        yield Record(
            id=key if len(replies) == 1 else f"{key}#{number}",
            sample=f"{context.id_prefix}{index:09d}",
            variant=None if len(replies) == 1 else number,
            messages=prompt.without(reply),
            task=context.task or ("multiple_choice" if options else "vqa"),
            source=context.source(row),
            images=prompt.images,
            question=prompt.question,
            options=options,
            dataset=dataset,
            subset=subset,
            extra=extra,
            prediction=reply,
        )


def _replies(output: Any) -> list[str | None]:
    """Read the replies; a failed call has none."""
    if output is None:
        return [None]
    choices = output.get("choices") if isinstance(output, dict) else None
    if not isinstance(choices, list):
        raise RowError("prediction.type", "model_output", f"expected an object with a list of choices {got(output)}.")
    replies: list[str | None] = []
    for number, choice in enumerate(choices):
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(message, dict):
            raise RowError("prediction.type", f"model_output.choices[{number}]", f"expected a message {got(choice)}.")
        replies.append(text_of(message.get("content"), f"model_output.choices[{number}].message"))
    return replies or [None]


def _mismatch(sample: Sample) -> str | None:
    missing = [name for name in REQUIRED if name not in sample.columns]
    return f"no field {missing[0]!r}" if missing else None


FORMAT = Format(
    summary="EvalScope predictions, {benchmark}_{subset}.jsonl",
    suffixes=(".jsonl",),
    rows=_rows,
    records=_records,
    mismatch=_mismatch,
)
