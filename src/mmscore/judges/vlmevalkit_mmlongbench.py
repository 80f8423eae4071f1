"""The final answer in what a model found out about a document, asked as VLMEvalKit does for MMLongBench-Doc.

One question; the answer stands in the response between `Extracted answer:` and `Answer format:`, and is compared by the
recipe.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/mmlongbenchdoc.py:MMLongBench_auxeval, whose further tries are
for calls that failed. Not kept: a response that names no answer leaves the row without a score; the framework compares
an empty answer.
"""

from collections.abc import Sequence

from mmscore.core.judge import JUDGED, Case, JudgeQuestion, NoVerdict, Step, Verdict
from mmscore.core.parsed import Parsed
from mmscore.kits.vlmevalkit.judge_prompts import build_mmlongbench_prompt
from mmscore.kits.vlmevalkit.judge_responses import build_kit_judge
from mmscore.kits.vlmevalkit.kit_prompts import MMLONGBENCH_PROMPTS
from mmscore.kits.vlmevalkit.rows import read_stored_text

ANSWER, FORMAT = "Extracted answer:", "Answer format:"


def _decide_step(case: Case, responses: Sequence[str]) -> Step:
    if not responses:
        prompt = build_mmlongbench_prompt(case.wording, case.item.question or "", case.item.prediction)
        return JudgeQuestion(prompt)
    parts = responses[-1].split(FORMAT)[0].split(ANSWER)
    if len(parts) == 1:
        return NoVerdict(f"its response has no {ANSWER!r}")
    return Verdict(Parsed(read_stored_text(parts[1].strip()), JUDGED))


JUDGE = build_kit_judge(
    "The final answer about a document, as VLMEvalKit asks for MMLongBench-Doc",
    {"llm": "asks about every answer"},
    _decide_step,
    columns=("question",),
    slots=("question", "prediction"),
    kit_prompts=MMLONGBENCH_PROMPTS,
    required=("prediction",),
)
