"""Whether an answer means yes or no, asked as VLMEvalKit does where it holds neither word or both.

Up to five questions, each half a degree warmer. A judge that says `Unknown` is asked again; if it never says yes or
no the answer counts as it stands, as neither.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/yorn.py:YOrN_auxeval. Not kept: after
five responses that are none of the three words the row has no score; the framework counts it as wrong.
"""

from collections.abc import Sequence

from mmscore.core.judge import JUDGED, LEAVE, Case, JudgeQuestion, NoVerdict, Step, Verdict
from mmscore.core.parsed import Parsed
from mmscore.kits.vlmevalkit.judge_prompts import build_yes_no_prompt
from mmscore.kits.vlmevalkit.judge_responses import STEP, TRIES, build_kit_judge, read_judged_yes_no
from mmscore.kits.vlmevalkit.kit_prompts import YES_NO_PROMPTS
from mmscore.kits.vlmevalkit.yes_no import COLUMNS
from mmscore.metrics.vlmevalkit_yes_no import UNKNOWN

SLOTS = ("question", "prediction")


def _decide_step(case: Case, responses: Sequence[str]) -> Step:
    if case.parsed.value is not None:
        return LEAVE
    parsed = read_judged_yes_no(responses)
    if parsed is None:
        prompt = build_yes_no_prompt(case.wording, case.item.question or "", case.item.prediction)
        return JudgeQuestion(prompt, {"temperature": STEP * len(responses)})
    if parsed.value is not None:
        return Verdict(Parsed(parsed.value, JUDGED))
    if any(response.strip().strip(".").lower() == UNKNOWN.lower() for response in responses):
        return Verdict()
    return NoVerdict(f"{TRIES} responses that are none of Yes, No, {UNKNOWN}")


JUDGE = build_kit_judge(
    "Whether an answer means yes or no, as VLMEvalKit asks",
    {"unread": "asks about answers in which the rules find neither word, or both"},
    _decide_step,
    columns=("question", *COLUMNS),
    tries=TRIES,
    slots=SLOTS,
    kit_prompts=YES_NO_PROMPTS,
    required=("prediction",),
)
