"""Whether an answer is correct, incorrect or not attempted, asked as VLMEvalKit does for SimpleVQA.

One question at temperature 1, as the framework asks. The response is a JSON object, a fence of code around it allowed
and its last brace optional, whose first value is the verdict or an object with a `conclusion`.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/simplevqa.py:SimpleVQA.get_scores,
vlmeval/dataset/utils/simplevqa.py:SimpleVQAEval. Kept on purpose: a verdict of more than three characters that is none
of the three words is taken for not attempted. Not kept: a response that is no such object, or whose verdict is another
short word, leaves the row without a score; the framework counts the row and none of the three verdicts.
"""

import json
from collections.abc import Sequence

from mmscore.core.judge import JUDGED, Case, JudgeQuestion, NoVerdict, Step, Verdict
from mmscore.core.parsed import Parsed
from mmscore.kits.vlmevalkit.judge_prompts import build_simplevqa_prompt
from mmscore.kits.vlmevalkit.judge_responses import GENERATION, build_kit_judge
from mmscore.kits.vlmevalkit.kit_prompts import SIMPLEVQA_PROMPTS
from mmscore.kits.vlmevalkit.rows import read_answer_cell
from mmscore.kits.vlmevalkit.simplevqa import NOT_ATTEMPTED, VERDICTS

LONGEST_WORD = 3
"""Characters of the longest verdict; what is longer is a remark."""

FENCES = ("```json", "```python", "```")


def _decide_step(case: Case, responses: Sequence[str]) -> Step:
    if not responses:
        item = case.item
        return JudgeQuestion(
            build_simplevqa_prompt(case.wording, item.question or "", read_answer_cell(item), item.prediction)
        )
    verdict = _read_verdict(responses[-1])
    if verdict is None:
        return NoVerdict("its response is no JSON object with one of the three verdicts")
    return Verdict(Parsed(verdict, JUDGED))


def _read_verdict(response: str) -> str | None:
    text = response
    for fence in FENCES:
        text = text.replace(fence, "")
    text = text.strip()
    try:
        found = json.loads(text if text.endswith("}") else text + "}")
    except (ValueError, RecursionError):
        return None
    first = next(iter(found.values()), None) if isinstance(found, dict) else None
    if isinstance(first, dict):
        word = first.get("conclusion")
        word = word.replace("**", "") if isinstance(word, str) else None
    elif isinstance(first, str):
        word = first.replace("**", "")
        word = word if word in VERDICTS or len(word) <= LONGEST_WORD else NOT_ATTEMPTED
    else:
        word = None
    return word if word in VERDICTS else None


JUDGE = build_kit_judge(
    "Whether an answer is correct, as VLMEvalKit asks for SimpleVQA",
    {"llm": "asks about every answer"},
    _decide_step,
    columns=("question", "answer", "label"),
    slots=("question", "reference", "prediction"),
    kit_prompts=SIMPLEVQA_PROMPTS,
    required=("reference", "prediction"),
    generation={**GENERATION, "temperature": 1},
)
