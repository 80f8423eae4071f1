"""The letters that an answer chooses, asked as VLMEvalKit does for LogicVista.

Up to five questions, each half a degree warmer, until a response is capital letters and nothing else.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/logicvista.py:LogicVista_auxeval. Not kept: after five
responses without letters the row has no score; the framework counts it as wrong.
"""

from collections.abc import Sequence

from mmscore.core.judge import JUDGED, Case, JudgeQuestion, NoVerdict, Step, Verdict
from mmscore.core.parsed import Parsed
from mmscore.kits.vlmevalkit.judge_prompts import build_logicvista_prompt
from mmscore.kits.vlmevalkit.judge_responses import STEP, TRIES, build_kit_judge
from mmscore.kits.vlmevalkit.kit_prompts import LOGICVISTA_PROMPTS


def _decide_step(case: Case, responses: Sequence[str]) -> Step:
    if responses and responses[-1].isupper() and responses[-1].isalpha():
        return Verdict(Parsed(responses[-1], JUDGED))
    if len(responses) == TRIES:
        return NoVerdict(f"{TRIES} responses that are more, or less, than capital letters")
    prompt = build_logicvista_prompt(case.wording, case.item.question or "", case.item.prediction)
    return JudgeQuestion(prompt, {"temperature": STEP * len(responses)})


JUDGE = build_kit_judge(
    "The letters that an answer chooses, as VLMEvalKit asks for LogicVista",
    {"llm": "asks about every answer"},
    _decide_step,
    columns=("question",),
    tries=TRIES,
    slots=("question", "prediction"),
    kit_prompts=LOGICVISTA_PROMPTS,
    required=("prediction",),
)
