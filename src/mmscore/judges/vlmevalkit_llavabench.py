"""What two answers are worth, from 1 to 10, asked as VLMEvalKit does for LLaVA-Bench.

One question shows the picture in words, GPT-4's answer and the model's; the first line of the reply is
their scores.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/llavabench.py:LLaVABench_atomeval. Not
kept: a reply that cannot be read, or a score out of range, leaves the row without a score; the kit
counts -1, and any number.
"""

from collections.abc import Sequence

from mmscore.judge import Case, Judge, NoVerdict, Question, Step, Verdict
from mmscore.kits.vlmevalkit.judge_prompts import llavabench_prompt
from mmscore.kits.vlmevalkit.judge_replies import GENERATION
from mmscore.kits.vlmevalkit.llavabench import TEMPERATURE, asked_of, pair_of
from mmscore.kits.vlmevalkit.rows import JUDGED_KIT, VERSIONS

LLM = "llm"
SLOTS = ("caption", "question", "reference", "prediction")


def _step(case: Case, replies: Sequence[str]) -> Step:
    if not replies:
        asked = asked_of(case.item)
        texts = asked.caption, case.item.question or "", asked.gpt4_answer, case.item.prediction
        return Question(llavabench_prompt(case.wording, *texts))
    pair = pair_of(replies[-1])
    if pair is None:
        return NoVerdict("its first line is not two numbers from 1 to 10")
    return Verdict(scores={"vlm_score": pair.model, "gpt4_score": pair.gpt4})


JUDGE = Judge(
    summary="What two answers are worth, as VLMEvalKit asks for LLaVA-Bench",
    parity=JUDGED_KIT,
    versions=VERSIONS,
    strategies={LLM: "asks about every answer"},
    auto=LLM,
    columns=("question", "extra"),
    step=_step,
    slots=SLOTS,
    required=("reference", "prediction"),
    generation={**GENERATION, "temperature": TEMPERATURE},
)
