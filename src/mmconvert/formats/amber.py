"""AMBER's annotations, a JSON array of `id`, `type` and `truth`: the key of responses, which are `id` and `response`.

A discriminative question is answered by yes or no. A generative one lists what is in the image (`truth`) and what
models are known to invent (`hallu`), which no text answers: it has no reference here. Source: junyangwang0410/AMBER
data/annotations.json, inference.py.

Kept: `type` as `category`, its first word as `split`, other fields in `extra`.
Refused: rows whose `type` is not a text, a discriminative `truth` other than yes and no (`answer.type`).
Lost: nothing; the file holds neither questions nor images.
"""

from collections.abc import Iterable
from typing import Any

from mmconvert.core.errors import RowError, show
from mmconvert.core.record import Record, encode_json
from mmconvert.core.rows import Row
from mmconvert.io import json_array
from mmconvert.io.columns import keep_extra_fields, take_id
from mmconvert.plugins.format import Context, Format, Sample

DATASET = "AMBER"
GENERATIVE, DISCRIMINATIVE = "generative", "discriminative"
_NEEDED = ("id", "type", "truth")
_TYPES = (GENERATIVE, DISCRIMINATIVE, "relation")
"""How types begin; the relations of the public file are called so alone."""

_ANSWERS = {"yes": "Yes", "no": "No"}


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields: dict[str, Any] = dict(row.fields)
    key, kind = take_id(fields, row, context), fields.pop("type", None)
    if not isinstance(kind, str):
        raise RowError("category.type", "type", f"expected a text {show(kind)}.")
    generative = kind.startswith(GENERATIVE)
    truth = fields.get("truth")
    answer = None if generative else _ANSWERS.get(str(truth).strip().lower())
    if answer is None and not generative:
        raise RowError("answer.type", "truth", f"expected yes or no {show(truth)}.")
    if not generative:
        del fields["truth"]
    yield Record(
        id=key,
        sample=key,
        messages=(),
        task=context.task or ("caption" if generative else "yes_no"),
        source=context.source(row),
        answer=answer,
        answers=() if answer is None else (answer,),
        label=None if answer is None else encode_json(answer),
        category=kind,
        split=GENERATIVE if generative else DISCRIMINATIVE,
        dataset=context.dataset or DATASET,
        subset=context.subset,
        extra=keep_extra_fields(fields),
    )


def _find_mismatch(sample: Sample) -> str | None:
    if missing := sample.find_missing(_NEEDED, "field"):
        return missing
    types = [row.get("type") for row in sample.rows]
    return None if all(isinstance(one, str) and one.startswith(_TYPES) for one in types) else "no type of AMBER's"


FORMAT = Format(
    summary="AMBER's annotations, the key of its responses",
    suffixes=(".json",),
    rows=json_array.rows,
    records=_read_records,
    mismatch=_find_mismatch,
)
