"""The short answer in a response, asked as VLMEvalKit does for DynaMath.

One question, where the rules read no number or no letter; the response is read by the same rules, and compared by the
recipe. One that says nothing leaves the row as it would be without a judge.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/dynamath.py:DynaMath_auxeval.
"""

from collections.abc import Sequence

from mmscore.core.judge import JUDGED, LEAVE, Case, JudgeQuestion, Step, Verdict
from mmscore.kits.vlmevalkit.dynamath import cut_object, read_short_answer
from mmscore.kits.vlmevalkit.judge_prompts import build_dynamath_prompt
from mmscore.kits.vlmevalkit.judge_responses import build_kit_judge
from mmscore.kits.vlmevalkit.kit_prompts import ANSWER_TYPE, DYNAMATH_PROMPTS
from mmscore.kits.vlmevalkit.rows import read_other_cells, require_cell


def _decide_step(case: Case, responses: Sequence[str]) -> Step:
    if case.parsed.value is not None:
        return LEAVE
    kind = require_cell(read_other_cells(case.item), ANSWER_TYPE)
    if responses:
        parsed = read_short_answer(responses[-1], kind, JUDGED)
        return Verdict() if parsed.value is None else Verdict(parsed)
    question, said = case.item.question or "", cut_object(case.item.prediction)
    return JudgeQuestion(build_dynamath_prompt(case.wording, question, said, kind))


JUDGE = build_kit_judge(
    "The short answer in a response, as VLMEvalKit asks for DynaMath",
    {"unread": "asks about answers in which the rules find no number or no letter"},
    _decide_step,
    columns=("question", "extra"),
    slots=("question", "prediction"),
    kit_prompts=DYNAMATH_PROMPTS,
    required=("prediction",),
)
