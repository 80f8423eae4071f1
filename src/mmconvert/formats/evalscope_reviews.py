"""EvalScope's reviews: `reviews/{model}/{benchmark}_{subset}.jsonl`, reference, reply and score a line.

The reply is `sample_score.score.prediction`; what the kit extracted and scored stays in `extra` and is never
taken for a score of ours. Source: modelscope/evalscope 1.3.0 to 1.14.1
evalscope/api/evaluator/cache.py:ReviewResult, evalscope/api/metric/scorer.py.

Kept: the whole `sample_score` in `extra`; what the messages hold and is not at hand in `extra.unseen`.
Refused: rows without an integer `index` (`id.missing`), without a score (`prediction.type`), a target that is
no text.
Lost: all but the last of several rows with one index, as in the kit.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mmconvert.core.errors import RowError, got
from mmconvert.core.record import LETTERS, Record, canonical_json
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.io.columns import rest
from mmconvert.kits.evalscope.outputs import index_of, last_rows, options_in, place_of, prompt_of
from mmconvert.plugins.format import Context, Format, Sample

REQUIRED = ("index", "sample_score")
_BETWEEN = re.compile(r"[\s,]+")


def _rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    return last_rows(path)


def _records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    index = index_of(fields)
    reply, group = _review(fields.get("sample_score"))
    name = "messages" if fields.get("messages") is not None else "input"
    prompt = prompt_of(fields.pop(name, None), context, name)
    dataset, subset = place_of(row, context)
    options = options_in(prompt.question or "")
    target = fields.pop("target", None)
    answer, answers = _answers(target, options)
    sample = f"{context.id_prefix}{index if group is None else group:09d}"
    extra = rest(fields)
    if prompt.unseen:
        extra["unseen"] = list(prompt.unseen)
    yield Record(
        id=f"{context.id_prefix}{index}",
        sample=sample,
        group=None if group is None else sample,
        messages=prompt.without(reply),
        task=context.task or ("multiple_choice" if options else "vqa"),
        source=context.source(row),
        images=prompt.images,
        question=prompt.question,
        options=options,
        answer=answer,
        answers=answers,
        label=None if target is None else canonical_json(target),
        dataset=dataset,
        subset=subset,
        extra=extra,
        prediction=reply,
    )


def _review(review: Any) -> tuple[str | None, int | None]:
    """Give the reply, and the number of the question where it was asked several times."""
    score = review.get("score") if isinstance(review, dict) else None
    if not isinstance(score, dict):
        raise RowError("prediction.type", "sample_score", f"expected an object with a score {got(review)}.")
    reply, group = score.get("prediction"), review.get("group_id")
    if reply is not None and not isinstance(reply, str):
        raise RowError("prediction.type", "sample_score.score.prediction", f"expected a text {got(reply)}.")
    return reply, group if isinstance(group, int) and not isinstance(group, bool) else None


def _answers(target: Any, options: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    values = [] if target is None or target == "" else target if isinstance(target, list) else [target]
    if not all(isinstance(value, str) for value in values):
        raise RowError("answer.type", "target", f"expected a text or a list of texts {got(target)}.")
    if not options:
        return (values[0] if values else None), tuple(values)
    letters = {letter.upper() for value in values for letter in _BETWEEN.sub("", value)}
    known = letters <= set(LETTERS[: len(options)])
    return ("".join(sorted(letters)) or None) if known else None, tuple(values)


def _mismatch(sample: Sample) -> str | None:
    missing = [name for name in REQUIRED if name not in sample.columns]
    return f"no field {missing[0]!r}" if missing else None


FORMAT = Format(
    summary="EvalScope reviews, {benchmark}_{subset}.jsonl",
    suffixes=(".jsonl",),
    rows=_rows,
    records=_records,
    mismatch=_mismatch,
)
