"""The final answer in an answer, asked as VLMEvalKit does for MathVista.

One question, where nothing could be read directly; the response is the answer whatever it says, and is
compared by the recipe.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/mathvista.py:MathVista_auxeval, whose further
tries are for calls that failed.
"""

from collections.abc import Sequence

from mmscore.core.judge import JUDGED, LEAVE, Case, JudgeQuestion, Step, Verdict
from mmscore.core.parsed import Parsed
from mmscore.kits.vlmevalkit.judge_prompts import build_mathvista_prompt
from mmscore.kits.vlmevalkit.judge_responses import build_kit_judge
from mmscore.kits.vlmevalkit.kit_prompts import MATHVISTA_PROMPTS


def _decide_step(case: Case, responses: Sequence[str]) -> Step:
    if case.parsed.value is not None:
        return LEAVE
    if responses:
        return Verdict(Parsed(responses[-1], JUDGED))
    return JudgeQuestion(build_mathvista_prompt(case.wording, case.item.question or "", case.item.prediction))


JUDGE = build_kit_judge(
    "The final answer in an answer, as VLMEvalKit asks for MathVista",
    {"unread": "asks about answers in which the rules find no option and no right number"},
    _decide_step,
    columns=("question", "answer", "label", "extra"),
    slots=("question", "prediction"),
    kit_prompts=MATHVISTA_PROMPTS,
    required=("prediction",),
)
