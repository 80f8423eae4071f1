"""MathVista as its own script scores the answers that were taken out of the responses.

The row's `extraction` counts, as `extract_answer.py` wrote it; a row without one whose response is nothing but a choice
or a number is read directly, as that script does before it calls a model, and any other is rejected. A choice is the
letter in brackets or alone, else the choice that is spelled most alike. Numbers are rounded as the question says, and
compared as texts.

Parity: lupantech/MathVista@53d5258 evaluation/calculate_score.py (normalize_extracted_answer, safe_equal),
evaluation/extract_answer.py. Kept on purpose: an empty extraction is the shortest choice; `12` is not `12.0`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mmconvert.core.errors import RowError, show
from mmconvert.core.record import LETTERS
from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.core.recipe import Facts, Item, NoReferenceError, Recipe, Row, read_label
from mmscore.core.table import Scored
from mmscore.nlp.edit_distance import compute_edit_distance

FORMATS = frozenset(("mathvista",))
MULTIPLE_CHOICE, INTEGER, FLOAT, LIST = "multi_choice", "integer", "float", "list"
"""Values of `question_type` and, for free-form questions, of `answer_type`."""

_SKILLS = "extra.skills"
_GROUPS = ("category", *(f"extra.{n}" for n in ("question_type", "answer_type", "language", "source", "task")))
_FURTHER = ("extra.context", "extra.grade")
_LETTER = re.compile(r"\(([a-zA-Z])\)")


def _parse(item: Item, version: str) -> Parsed:
    fields = _read_fields(item)
    if fields.get("extraction") is not None:
        extraction, how = str(fields["extraction"]), "extraction"
    else:
        extraction, how = _extract_directly(item, fields), "read directly"
    value = _normalize(extraction, item, fields)
    return UNPARSED if value is None else Parsed(value, how)


def _read_fields(item: Item) -> dict[str, Any]:
    try:
        fields = json.loads(item.extra)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise RowError("extra.json", "extra", f"expected a JSON object {show(item.extra)}. Write the column as one.")
    return fields


def _extract_directly(item: Item, fields: Mapping[str, Any]) -> str:
    """Take an answer out of a response without a model, as `extract_answer.py` does first."""
    response = item.prediction
    if response == "" or (fields.get("question_type") == MULTIPLE_CHOICE and response in item.options):
        return response
    numbers = {INTEGER: int, FLOAT: float}
    read = numbers.get(str(fields.get("answer_type")))
    try:
        return str(read(response)) if read else _refuse_response(item)
    except ValueError:
        return _refuse_response(item)


def _refuse_response(item: Item) -> str:
    message = (
        f"no answer was taken out of the response {show(item.prediction)}. Run MathVista's extract_answer.py first."
    )
    raise RowError("extraction.missing", "extra.extraction", message)


def _normalize(extraction: str, item: Item, fields: Mapping[str, Any]) -> str | None:
    """Bring an extraction to the answer's form: a choice, a number as text; None where it is no such number."""
    kind = fields.get("answer_type")
    if fields.get("question_type") == MULTIPLE_CHOICE:
        return _find_choice(extraction.strip(), [option or "" for option in item.options])
    if kind == LIST:
        return extraction
    if kind not in (INTEGER, FLOAT):
        message = f"expected integer, float or list {show(kind)}. Correct the row, or leave it out."
        raise RowError("answer_type.type", "extra.answer_type", message)
    try:
        number = float(extraction)
        return str(int(number)) if kind == INTEGER else str(round(number, int(fields["precision"])))
    except (ValueError, OverflowError, TypeError, KeyError):
        return None


def _find_choice(extraction: str, choices: Sequence[str]) -> str:
    if not choices:
        raise RowError(
            "options.count", "options", "a question with choices has none. Correct the row, or leave it out."
        )
    if letters := _LETTER.findall(extraction):
        extraction = letters[0].upper()
    if extraction in tuple(LETTERS[: len(choices)]):
        return choices[LETTERS.index(extraction)]
    return min(choices, key=lambda choice: compute_edit_distance(extraction, choice))


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    answer = read_label(item)
    if answer is None:
        raise NoReferenceError("answer")
    return {"accuracy": float(parsed.value == answer)}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    """Lay out what the script writes to its file of scores: the average, then each value of each column."""
    lines = [_count("average", "", scored)]
    for name in (*_GROUPS, *_FURTHER):
        lines += [_count(name.removeprefix("extra."), value, part) for value, part in scored.split(name)]
    skills = list(map(_read_skills, scored.column(_SKILLS)))
    for skill in dict.fromkeys(skill for row in skills for skill in row):
        lines.append(_count("skills", skill, scored.where(np.array([skill in row for row in skills]))))
    return lines


def _count(group: str, value: str, part: Scored) -> Row:
    found = part.scores["accuracy"][~np.isnan(part.scores["accuracy"])]
    correct, total = int(found.sum()), len(found)
    share = correct / total if total else 0.0
    return {"group": group, "value": value, "accuracy": share, "correct": correct, "total": total}


def _read_skills(cell: str | None) -> list[str]:
    try:
        skills = json.loads(cell or "[]")
    except (ValueError, RecursionError):
        return []
    return [str(skill) for skill in skills] if isinstance(skills, list) else []


def _default_for(facts: Facts) -> str | None:
    return "MathVista's own result files" if facts.formats and facts.formats <= FORMATS else None


RECIPE = Recipe(
    summary="MathVista as its own script scores extracted answers",
    parity="MathVista calculate_score.py",
    versions={"1": "lupantech/MathVista@53d5258"},
    columns=("options", "answer", "label", "extra"),
    parse=_parse,
    metrics=_score_row,
    table=_build_table,
    keep=(*_GROUPS, *_FURTHER, _SKILLS),
    groups=_GROUPS,
    default_for=_default_for,
)
