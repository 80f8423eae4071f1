"""What two answers are worth, from 1 to 10, asked as VLMEvalKit does for LLaVA-Bench.

One question shows the image in words, GPT-4's answer and the model's; the first line of the response is
their scores. The strategy `position_swap`, which the framework does not have, asks again with the two
answers exchanged and takes the mean of both, so that no answer gains by standing first.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/llavabench.py:LLaVABench_atomeval. Not
kept: a response that cannot be read, or a score out of range, leaves the row without a score; the framework
counts -1, and any number.
"""

from collections.abc import Sequence

from mmscore.core.judge import Case, JudgeQuestion, NoVerdict, Step, Verdict
from mmscore.kits.vlmevalkit.judge_prompts import build_llavabench_prompt
from mmscore.kits.vlmevalkit.judge_responses import GENERATION, build_kit_judge
from mmscore.kits.vlmevalkit.kit_prompts import LLAVABENCH_PROMPTS
from mmscore.kits.vlmevalkit.llavabench import TEMPERATURE, parse_pair, read_reference_facts

SWAP = "position_swap"
SLOTS = ("caption", "question", "reference", "prediction")


def _decide_step(case: Case, responses: Sequence[str]) -> Step:
    asked = JUDGE.least(case.strategy)
    pairs = [parse_pair(response) for response in responses]
    if None in pairs:
        return NoVerdict("its first line is not two numbers from 1 to 10")
    if len(pairs) < asked:
        return JudgeQuestion(_build_prompt(case, swapped=len(pairs) == 1))
    # In the second response the model's answer stood first.
    models, gpt4s = zip(*((pair[(n + 1) % 2], pair[n]) for n, pair in enumerate(pairs) if pair), strict=True)
    return Verdict(scores={"vlm_score": sum(models) / asked, "gpt4_score": sum(gpt4s) / asked})


def _build_prompt(case: Case, *, swapped: bool) -> str:
    shown = read_reference_facts(case.item)
    answers = (shown.gpt4_answer, case.item.prediction)
    first, second = reversed(answers) if swapped else answers
    return build_llavabench_prompt(case.wording, shown.caption, case.item.question or "", first, second)


JUDGE = build_kit_judge(
    "What two answers are worth, as VLMEvalKit asks for LLaVA-Bench",
    {
        "llm": "asks about every answer",
        SWAP: "asks twice, the second time with the answers exchanged, and takes the mean",
    },
    _decide_step,
    columns=("question", "extra", "category"),
    questions={SWAP: 2},
    slots=SLOTS,
    kit_prompts=LLAVABENCH_PROMPTS,
    required=("reference", "prediction"),
    generation={**GENERATION, "temperature": TEMPERATURE},
)
