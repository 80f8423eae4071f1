"""EvalScope's judge as a protocol: which rows it is asked about, with which prompt, and what becomes of it.

The prompt template is ours: instructions first, then what is judged between marks that it cannot imitate.
"""

import json
from collections.abc import Sequence

from msgspec.structs import replace

from mmconvert.core.errors import UsageError
from mmscore.core.judge import (
    JUDGED,
    LEAVE,
    RULE,
    Case,
    Judge,
    JudgeQuestion,
    KitPrompts,
    NoVerdict,
    Step,
    Verdict,
    fence_text,
)
from mmscore.core.recipe import read_label
from mmscore.kits.evalscope.aggregation import NEW, Release
from mmscore.kits.evalscope.judging import (
    LABELS,
    VERDICT,
    Scale,
    fill_template,
    format_question,
    merge,
    needs_judge,
    read_verdict,
)
from mmscore.kits.evalscope.response import split_reasoning
from mmscore.kits.evalscope.table import RELEASES, VERSIONS
from mmscore.kits.evalscope.target import check_target
from mmscore.metrics.evalscope_accuracy import join_target

LLM = "llm"
LLM_RECALL = "llm_recall"
STRATEGIES = {LLM: "the judge alone, about every row", LLM_RECALL: "the judge where the rules give no full score"}
GENERATION = {"temperature": 0, "max_tokens": 4096}


def build_evalscope_judge(scale: Scale, *, summary: str, instruction: str, old_form: str, new_form: str) -> Judge:
    """Make the judge of one kind of verdict.

    Args:
        scale: What a verdict may be; with labels the judge sees the reference.
        summary: One line for `mmscore list`.
        instruction: Our prompt template of the task.
        old_form: Our prompt template of how to response, until 1.10.
        new_form: The same since 1.14, also put behind a prompt template of the user's.
    """
    compared = scale.kind == "pattern"

    def prompt(case: Case, release: Release) -> str:
        target = read_label(case.item) if case.item.label is not None else list(case.item.answers) or case.item.answer
        # No answer, 0 and false are an empty text to the framework.
        gold = join_target(check_target(target or ""), release)
        question = format_question(case.item.messages, case.item.question)
        pred = split_reasoning(case.item.prediction)[0]
        form = _describe_form(new_form, case) if release == NEW else old_form
        if case.wording is not None:
            text = fill_template(case.wording, question, gold, pred, release)
            return f"{text}\n\n{form}" if release == NEW else text
        parts = [
            fence_text(question, "question"),
            *([fence_text(gold, "reference")] if compared else []),
            fence_text(pred),
        ]
        return "\n\n".join([instruction, *parts, form])

    def step(case: Case, responses: Sequence[str]) -> Step:
        recall = case.strategy == LLM_RECALL
        if recall and not (case.scores and needs_judge(case.scores)):
            return LEAVE
        release, wanted = RELEASES[case.version], _choose_scale(scale, case)
        if not responses:
            return JudgeQuestion(prompt(case, release))
        reading = read_verdict(responses[-1], wanted, release)
        if reading.fault or reading.score is None:
            return NoVerdict(f"the response has no verdict ({reading.fault})")
        scores = merge(case.scores, reading.score, release) if recall else {VERDICT: reading.score}
        return Verdict(replace(case.parsed, how=JUDGED), scores)

    return Judge(
        summary=summary,
        parity="EvalScope llm judge",
        versions=VERSIONS,
        strategies=STRATEGIES,
        auto=RULE,
        columns=("question", "messages", *(("answer", "answers", "label") if compared else ())),
        step=step,
        slots=("question", "pred", "gold"),
        required=("pred",),
        generation=GENERATION,
        kit_prompts=KitPrompts("EvalScope"),
        takes_labels=tuple(VERSIONS) if compared else (),
        takes_pattern=tuple(version for version in VERSIONS if RELEASES[version] != NEW),
    )


def _choose_scale(scale: Scale, case: Case) -> Scale:
    """Take the user's labels and pattern where there are any.

    Raises:
        UsageError: Until 1.10, the labels are others than the release's pattern finds.
    """
    if case.labels is None:
        return replace(scale, pattern=case.pattern)
    if case.pattern is None and RELEASES[case.version] != NEW and not case.labels.keys() <= LABELS.keys():
        known = " and ".join(LABELS)
        raise UsageError(
            f"--judge-score-mapping: until 1.10 only {known} are found in a response. Say how to find yours: "
            "--judge-score-pattern REGEX."
        )
    return replace(scale, labels=case.labels, pattern=case.pattern)


def _describe_form(new_form: str, case: Case) -> str:
    """Word the response that is wanted since 1.14; the user's prompt template says what labels of theirs mean."""
    if case.labels is None:
        return new_form
    labels = [json.dumps(label, ensure_ascii=False) for label in case.labels]
    return (
        f'Reply with one JSON object and nothing else: {{"reasoning": "one sentence", "verdict": {labels[0]}}}, where '
        f"the verdict is one of {', '.join(labels)}."
    )
