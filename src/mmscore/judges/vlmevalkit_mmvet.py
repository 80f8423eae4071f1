"""How right an answer is, from 0 to 1, asked as VLMEvalKit does for MM-Vet.

Up to five questions, each half a degree warmer, until a response is a number in range and nothing else. The slot
`row` of a prompt template holds the question, the reference and the answer as a row of a table.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/mmvet.py:MMVet_auxeval. Not kept: after
five responses without a number, or a response `nan`, the row has no score; the framework counts 0, and NaN.
"""

from collections.abc import Sequence

from mmscore.core.judge import Case, JudgeQuestion, NoVerdict, Step, Verdict
from mmscore.kits.vlmevalkit.judge_prompts import build_mmvet_prompt
from mmscore.kits.vlmevalkit.judge_responses import STEP, TRIES, build_kit_judge
from mmscore.kits.vlmevalkit.kit_prompts import MMVET_PROMPTS
from mmscore.kits.vlmevalkit.mmvet import grade
from mmscore.kits.vlmevalkit.rows import read_answer_cell


def _decide_step(case: Case, responses: Sequence[str]) -> Step:
    graded = grade(responses)
    if graded is None:
        prompt = build_mmvet_prompt(
            case.wording, case.item.question or "", read_answer_cell(case.item), case.item.prediction
        )
        return JudgeQuestion(prompt, {"temperature": STEP * len(responses)})
    if not graded.given:
        return NoVerdict(f"{len(responses)} responses without a number from 0 to 1")
    return Verdict(scores={"score": graded.score})


JUDGE = build_kit_judge(
    "How right an answer is, as VLMEvalKit asks for MM-Vet",
    {"llm": "asks about every answer"},
    _decide_step,
    columns=("question", "answer", "label"),
    tries=TRIES,
    slots=("row",),
    kit_prompts=MMVET_PROMPTS,
    required=("row",),
)
