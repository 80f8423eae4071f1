"""lmms-eval's logged samples: `{time}_samples_{task}.jsonl`, prompt, target and responses of one question a line.

`filtered_resps` holds what the task scored, `resps` the responses before filters where they differ; all of them,
the target and the task's own scores (`mme_perception_score` and such) stay in `extra`. Several responses to one
question (`repeats`) are several rows, `<doc_id>#<variant>` each, of one `sample`; where the filter kept only the
first of them as it is, all of `resps` are. Options come from the
logged question where there is one, else from the prompt's lines `A. text`. Source:
EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/loggers/evaluation_tracker.py:save_results_samples.

Kept: `doc`, all responses, arguments and the task's scores in `extra`.
Refused: rows without `doc_id` (`id.missing`), responses by likelihood (`prediction.type`).
Lost: images, which the log does not hold.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mmconvert.core.errors import RowError, show
from mmconvert.core.record import LETTERS, Part, Record, Turn, encode_json
from mmconvert.core.rows import Row
from mmconvert.core.text.literals import looks_like_list, parse_list
from mmconvert.core.text.options import gather_lettered_options
from mmconvert.io import jsonl
from mmconvert.io.columns import keep_extra_fields
from mmconvert.io.number_files import keep_numbers, load_object
from mmconvert.plugins.format import Context, Format, Framework, StatedNumbers

REQUIRED = ("doc_id", "target", "filtered_resps")
NAME = re.compile(r"(?P<run>.*_)?samples_(?P<task>.+)")

# Source: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks
TASKS = {
    **dict.fromkeys(("mme", "pope", "pope_adv", "pope_pop", "pope_random", "pope_full"), "yes_no"),
    **dict.fromkeys(("coco2014_cap_val", "coco2017_cap_val", "flickr30k_test", "nocaps_val"), "caption"),
    "ocrbench": "ocr",
}
"""Tasks whose rows do not show what they ask for."""

ABSENT = "nan"
"""What the framework's MMBench tables write for an option that is not there."""


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    key = fields.pop("doc_id", None)
    if isinstance(key, bool) or not isinstance(key, str | int) or key == "":
        raise RowError("id.missing", "doc_id", f"expected a number or a text {show(key)}.")
    name = NAME.fullmatch(row.where.stem)
    dataset = context.dataset or (name["task"] if name else None)
    prompt = fields.get("input")
    if isinstance(prompt, str):
        del fields["input"]
    details = _gather_details(fields)
    target = fields.get("target")
    options = _read_options(details, prompt, target)
    answers = _read_answers(target)
    task = context.task or ("multiple_choice" if options else TASKS.get(dataset or "", "vqa"))
    responses = _list_responses(fields)
    record = Record(
        id=f"{context.id_prefix}{key}",
        sample=f"{context.id_prefix}{key}",
        group=_read_text(details, "question_id"),
        messages=(Turn("user", (Part("text", prompt),)),) if isinstance(prompt, str) and prompt else (),
        task=task,
        source=context.source(row),
        question=_read_text(details, "question") or (prompt if isinstance(prompt, str) else None),
        options=options,
        answer=None if task == "caption" else answers[0] if answers else None,
        answers=answers,
        label=None if target is None else encode_json(target),
        category=_read_text(details, "category"),
        l2_category=_read_text(details, "l2-category") or _read_text(details, "L2-category"),
        split=_read_text(details, "split"),
        dataset=dataset,
        subset=None if name and row.where.stem.startswith(context.subset or "") else context.subset,
        prediction=responses[0],
        extra=keep_extra_fields(fields),
    )
    if len(responses) == 1:
        yield record
        return
    for variant, response in enumerate(responses):
        yield replace(record, id=f"{record.id}#{variant}", variant=variant, prediction=response)


def _gather_details(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Gather what the row says about its question: the logged question, else what the scores repeat of it."""
    found: dict[str, Any] = {}
    for value in (fields.get("doc"), *(value for name, value in fields.items() if name != "doc")):
        if isinstance(value, dict):
            found = {**value, **found}
    return found


def _read_text(details: Mapping[str, Any], name: str) -> str | None:
    value = details.get(name)
    return None if value is None or isinstance(value, bool | list | dict) or value == ABSENT else str(value)


def _read_options(details: Mapping[str, Any], prompt: Any, target: Any) -> tuple[str | None, ...]:
    options = gather_lettered_options(_read_text(details, letter) for letter in LETTERS)
    if not options and isinstance(prompt, str):
        options = _find_options(prompt)
    right = target.strip() if isinstance(target, str) else ""
    return options if len(right) == 1 and right in LETTERS[: len(options)] else ()


def _find_options(prompt: str) -> tuple[str | None, ...]:
    """Find the last block of lines `A. text`, `B. text`, ... of a prompt."""
    at = prompt.rfind("\nA. ")
    block = prompt[at + 1 :].split("\n\n")[0] if at != -1 else ""
    texts: list[str | None] = []
    for line in block.split("\n"):
        if len(texts) < len(LETTERS) and line.startswith(f"{LETTERS[len(texts)]}. "):
            texts.append(line[3:])
    return tuple(texts) if len(texts) > 1 else ()


def _read_answers(target: Any) -> tuple[str, ...]:
    """Read the references; the framework writes a list as Python does, into a text."""
    if isinstance(target, str) and looks_like_list(target):
        try:
            items = parse_list(target)
        except RowError:
            return (target,)
        return tuple(map(str, items)) or (target,)
    values = target if isinstance(target, list) else [] if target is None else [target]
    if any(isinstance(value, bool | dict | list) for value in values):
        raise RowError("answer.type", "target", f"expected a text or a list of texts {show(target)}.")
    return tuple(map(str, values))


def _list_responses(fields: Mapping[str, Any]) -> list[str | None]:
    """List the responses, at least one: what the task scored, and what a filter that took the first left behind."""
    value = fields.get("filtered_resps")
    first = value[0] if isinstance(value, list) and value else None
    if isinstance(first, list) and len(first) == 2 and str(first[1]) in ("True", "False"):
        message = "a log-likelihood; choices by likelihood are not read from logs"
        raise RowError("prediction.type", "filtered_resps", f"expected a text, found {message} {show(first)}.")
    scored = list(_flatten_texts(value)) or [None]
    for response in scored:
        if not isinstance(response, str | None):
            raise RowError("prediction.type", "filtered_resps", f"expected a text {show(response)}.")
    given = list(_flatten_texts(fields.get("resps")))
    untouched = len(scored) == 1 < len(given) and all(isinstance(response, str) for response in given)
    return given if untouched and given[0] == scored[0] else scored


def _flatten_texts(value: Any) -> Iterator[Any]:
    """Give what lists inside lists hold at last."""
    if isinstance(value, list):
        for item in value:
            yield from _flatten_texts(item)
    else:
        yield value


def _read_results(path: Path) -> StatedNumbers | None:
    """Read what the same run found for the task, `{time}_results.json`; names come without their filter."""
    name = NAME.fullmatch(path.stem)
    if name is None:
        return None
    source = f"{name['run'] or ''}results.json"
    found = keep_numbers(load_object(path.with_name(source)).get("results", {}).get(name["task"], {}))
    found = {key.partition(",")[0]: value for key, value in found.items() if "_stderr," not in key}
    return StatedNumbers(source, found) if found else None


FORMAT = Format(
    summary="lmms-eval logged samples, {time}_samples_{task}.jsonl",
    suffixes=(".jsonl",),
    rows=jsonl.rows,
    records=_read_records,
    mismatch=lambda sample: sample.find_missing(REQUIRED, "field"),
    framework=Framework("lmms-eval", results=True, knows=bool),
    read_numbers=_read_results,
)
