"""EvalScope's responses: `predictions/{model}/{benchmark}_{subset}.jsonl`, one `model_output` a line.

The lines hold the messages that were sent, with images that were sent as data, and no references: those
come from the dataset (`--answers`), whose rows stand in the order of `index`. Source: modelscope/evalscope
1.3.0 to 1.14.1 evalscope/api/evaluator/cache.py:ModelResult.

Kept: the whole `model_output` in `extra`; what the messages hold and is not available in `extra.unseen`.
Refused: rows without an integer `index` (`id.missing`), a `model_output` without choices (`prediction.type`).
Lost: all but the last of several rows with one index, as in the framework.
"""

from collections.abc import Iterable
from typing import Any

from mmconvert.core.errors import RowError, show
from mmconvert.core.record import Record
from mmconvert.core.rows import Row
from mmconvert.io.columns import keep_extra_fields
from mmconvert.kits.evalscope import outputs
from mmconvert.plugins.format import Context, Format, Framework

REQUIRED = ("index", "model_output")


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    index = outputs.read_index(fields)
    responses = _read_responses(fields.get("model_output"))
    prompt = outputs.read_prompt(fields.pop("messages", None), context)
    dataset, subset = outputs.read_dataset_and_subset(row, context)
    options = outputs.find_options(prompt.question or "")
    key = f"{context.id_prefix}{index}"
    extra = keep_extra_fields(fields)
    if prompt.unseen:
        extra["unseen"] = list(prompt.unseen)
    for number, response in enumerate(responses):
        yield Record(
            id=key if len(responses) == 1 else f"{key}#{number}",
            sample=f"{context.id_prefix}{index:09d}",
            variant=None if len(responses) == 1 else number,
            messages=prompt.drop_response(response),
            task=context.task or ("multiple_choice" if options else "vqa"),
            source=context.source(row),
            images=prompt.images,
            question=prompt.question,
            options=options,
            dataset=dataset,
            subset=subset,
            extra=extra,
            prediction=response,
        )


def _read_responses(output: Any) -> list[str | None]:
    """Read the responses; a failed call has none."""
    if output is None:
        return [None]
    choices = output.get("choices") if isinstance(output, dict) else None
    if not isinstance(choices, list):
        raise RowError("prediction.type", "model_output", f"expected an object with a list of choices {show(output)}.")
    responses: list[str | None] = []
    for number, choice in enumerate(choices):
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(message, dict):
            raise RowError("prediction.type", f"model_output.choices[{number}]", f"expected a message {show(choice)}.")
        responses.append(outputs.join_texts(message.get("content"), f"model_output.choices[{number}].message"))
    return responses or [None]


FORMAT = Format(
    summary="EvalScope predictions, {benchmark}_{subset}.jsonl",
    suffixes=(".jsonl",),
    rows=lambda path, _: outputs.read_last_rows(path),
    records=_read_records,
    mismatch=lambda sample: sample.find_missing(REQUIRED, "field"),
    framework=Framework("EvalScope", results=True, knows=outputs.BENCHMARKS.__contains__),
)
