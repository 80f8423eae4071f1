"""Which option an answer means, asked as VLMEvalKit does where its matching finds none.

Up to three questions; a response is read as an answer of the model's would be. `Z` is none of the
options, and wrong.

Parity: open-compass/VLMEvalKit vlmeval/dataset/utils/multiple_choice.py:extract_answer_from_item. Not
kept: after three responses without an option the framework draws one at random; here the row has no score. In
a circular group the framework stops at the first wrong rotation; here every unread one is asked about.
"""

from collections.abc import Sequence

from mmconvert.core.errors import RowError
from mmscore.core.judge import JUDGED, LEAVE, Case, JudgeQuestion, NoVerdict, Step, Verdict
from mmscore.core.parsed import Parsed
from mmscore.kits.vlmevalkit.choices import COLUMNS, VERSIONS, list_options
from mmscore.kits.vlmevalkit.judge_prompts import build_option_prompt
from mmscore.kits.vlmevalkit.judge_responses import OPTION_TRIES, build_kit_judge, infer_judged_option
from mmscore.kits.vlmevalkit.kit_prompts import OPTION_PROMPTS

SLOTS = ("question", "options", "prediction")


def _decide_step(case: Case, responses: Sequence[str]) -> Step:
    if case.parsed.value is not None:
        return LEAVE
    item, options = case.item, list_options(case.item)
    try:
        judged = infer_judged_option(item.prediction, options, responses, case.version)  # type: ignore[arg-type]
    except RowError as error:
        return NoVerdict(error.message)
    if judged is None:
        return JudgeQuestion(build_option_prompt(case.wording, item.question or "", options, item.prediction))
    if judged.parsed.value is None:
        return NoVerdict(f"{OPTION_TRIES} responses that name no option")
    return Verdict(Parsed(judged.parsed.value, JUDGED))


JUDGE = build_kit_judge(
    "Which option an answer means, as VLMEvalKit asks",
    {"unread": "asks about answers in which the rules find no option"},
    _decide_step,
    versions=VERSIONS,
    columns=("question", *COLUMNS),
    tries=OPTION_TRIES,
    slots=SLOTS,
    kit_prompts=OPTION_PROMPTS,
    required=("options", "prediction"),
)
