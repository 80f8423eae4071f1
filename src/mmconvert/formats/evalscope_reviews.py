"""EvalScope's reviews: `reviews/{model}/{benchmark}_{subset}.jsonl`, reference, response and score a line.

The response is `sample_score.score.prediction`; what the framework extracted and scored stays in `extra` and is never
taken for a score of ours. Source: modelscope/evalscope 1.3.0 to 1.14.1
evalscope/api/evaluator/cache.py:ReviewResult, evalscope/api/metric/scorer.py.

Kept: the whole `sample_score` in `extra`; what the messages hold and is not available in `extra.unseen`.
Refused: rows without an integer `index` (`id.missing`), without a score (`prediction.type`), a target that is
no text.
Lost: all but the last of several rows with one index, as in the framework.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mmconvert.core.errors import RowError, show
from mmconvert.core.record import LETTERS, Record, encode_json
from mmconvert.core.rows import Row
from mmconvert.io.columns import keep_extra_fields, restore_integer
from mmconvert.io.number_files import keep_numbers, load_object
from mmconvert.kits.evalscope import outputs
from mmconvert.plugins.format import Context, Format, Framework, StatedNumbers

REQUIRED = ("index", "sample_score")
_BETWEEN = re.compile(r"[\s,]+")


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    index = outputs.read_index(fields)
    response, group = _read_review(fields.get("sample_score"))
    name = "messages" if fields.get("messages") is not None else "input"
    prompt = outputs.read_prompt(fields.pop(name, None), context, name)
    dataset, subset = outputs.read_dataset_and_subset(row, context)
    options = outputs.find_options(prompt.question or "")
    target = fields.pop("target", None)
    answer, answers = _read_answers(target, options)
    sample = f"{context.id_prefix}{index if group is None else group:09d}"
    extra = keep_extra_fields(fields)
    if prompt.unseen:
        extra["unseen"] = list(prompt.unseen)
    yield Record(
        id=f"{context.id_prefix}{index}",
        sample=sample,
        group=None if group is None else sample,
        messages=prompt.drop_response(response),
        task=context.task or ("multiple_choice" if options else "vqa"),
        source=context.source(row),
        images=prompt.images,
        question=prompt.question,
        options=options,
        answer=answer,
        answers=answers,
        label=None if target is None else encode_json(target),
        dataset=dataset,
        subset=subset,
        extra=extra,
        prediction=response,
    )


def _read_review(review: Any) -> tuple[str | None, int | None]:
    """Give the response, and the number of the question where it was asked several times."""
    score = review.get("score") if isinstance(review, dict) else None
    if not isinstance(score, dict):
        raise RowError("prediction.type", "sample_score", f"expected an object with a score {show(review)}.")
    response, group = score.get("prediction"), review.get("group_id")
    if response is not None and not isinstance(response, str):
        raise RowError("prediction.type", "sample_score.score.prediction", f"expected a text {show(response)}.")
    group = restore_integer(group)
    return response, group if isinstance(group, int) and not isinstance(group, bool) else None


def _read_answers(target: Any, options: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    values = [] if target is None or target == "" else target if isinstance(target, list) else [target]
    if not all(isinstance(value, str) for value in values):
        raise RowError("answer.type", "target", f"expected a text or a list of texts {show(target)}.")
    if not options:
        return (values[0] if values else None), tuple(values)
    letters = {letter.upper() for value in values for letter in _BETWEEN.sub("", value)}
    known = letters <= set(LETTERS[: len(options)])
    return ("".join(sorted(letters)) or None) if known else None, tuple(values)


def _read_report(path: Path) -> StatedNumbers | None:
    """Read the report of the same run, `reports/{model}/{benchmark}.json`: the numbers of the file's subset."""
    benchmark, subset = outputs.parse_file_stem(path.stem)
    folder = path.resolve().parent
    report = load_object(folder.parent.parent / "reports" / folder.name / f"{benchmark}.json")
    found = {}
    for metric in report.get("metrics", ()):
        scores = {
            one["name"]: one.get("score") for part in metric["categories"] for one in part["subsets"] if "name" in one
        }
        found[_build_label(metric)] = scores.get(subset)
    return StatedNumbers(f"reports/{folder.name}/{benchmark}.json", keep_numbers(found)) if found else None


def _build_label(metric: dict[str, Any]) -> str:
    """Name a metric of a report: by its name, since 1.14 by the parts of its identity."""
    if metric.get("identity") is None:
        return str(metric.get("name"))
    identity = metric["identity"]
    listed = ",".join(f"{key}={encode_json(value)}" for key, value in sorted(identity["dimensions"].items()))
    return f"{identity['name']}:{identity['aggregation']}" + (f"[{listed}]" if listed else "")


FORMAT = Format(
    summary="EvalScope reviews, {benchmark}_{subset}.jsonl",
    suffixes=(".jsonl",),
    rows=lambda path, _: outputs.read_last_rows(path),
    records=_read_records,
    mismatch=lambda sample: sample.find_missing(REQUIRED, "field"),
    framework=Framework("EvalScope", results=True, knows=outputs.BENCHMARKS.__contains__),
    read_numbers=_read_report,
)
