"""The final answer about a chart and whether it is right, asked as VLMEvalKit does for CharXiv.

The question of each row is the table's own, in its column `grading_query`, unless you give a prompt template. Up to ten
questions alike, until a response is JSON: an object with `extracted_answer` and a `score` from 0 to 1.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/charxiv.py:auxeval. Not kept: a row has no score here where
its responses are none, or the score is missing, no number, or out of range; the framework counts 0, and any number.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mmscore.core.judge import JUDGED, Case, JudgeQuestion, NoVerdict, Step, Verdict, fill_prompt
from mmscore.core.parsed import Parsed
from mmscore.kits.vlmevalkit.judge_responses import build_kit_judge
from mmscore.kits.vlmevalkit.rows import read_answer_cell, read_other_cells, require_cell

TRIES = 10
QUERY, SLOT = "grading_query", "{PREDICTION}"


def _decide_step(case: Case, responses: Sequence[str]) -> Step:
    found = _read_object(responses[-1]) if responses else None
    if found is None:
        if len(responses) == TRIES:
            return NoVerdict(f"{TRIES} responses that are no JSON object")
        return JudgeQuestion(_build_prompt(case))
    score, extracted = found.get("score"), found.get("extracted_answer")
    if not isinstance(score, int | float) or not 0 <= score <= 1 or "extracted_answer" not in found:
        return NoVerdict("its response has no extracted answer, or no score from 0 to 1")
    return Verdict(Parsed(extracted if isinstance(extracted, str) else json.dumps(extracted), JUDGED), {"score": score})


def _read_object(response: str) -> Mapping[str, Any] | None:
    """Read a response that is JSON; one that is no object says nothing."""
    try:
        found = json.loads(response)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else {}


def _build_prompt(case: Case) -> str:
    item = case.item
    if case.wording is not None:
        reference = read_answer_cell(item)
        texts = {"question": item.question or "", "reference": reference, "prediction": item.prediction}
        return fill_prompt(case.wording, texts)
    return require_cell(read_other_cells(item), QUERY).replace(SLOT, item.prediction)


JUDGE = build_kit_judge(
    "The final answer and whether it is right, as VLMEvalKit asks for CharXiv",
    {"llm": "asks about every answer"},
    _decide_step,
    columns=("question", "answer", "label", "extra"),
    tries=TRIES,
    slots=("question", "reference", "prediction"),
    required=("reference", "prediction"),
    # Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/charxiv.py:auxeval
    generation={"temperature": 0, "max_tokens": 256, "seed": 42, "top_p": 1},
)
