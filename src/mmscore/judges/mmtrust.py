"""What MMTrustEval's chains ask a chat model about a response, in our words or in the framework's own.

The chain of the dataset, or of a task file (`--recipe-options`), is run with the judge's responses so far, and what it
asks next is the question. A prompt template of yours replaces the chain's template: `{pred}`, `{label}` and keys of the
sample's extra, or `{}` by place where the framework fills `chatmodel_score`. So do the framework's own, read from a
checkout.

Parity: thu-ml/MMTrustEval@a067801 mmte/evaluators/chatmodel_eval.py. Not kept: the judged response stands between marks
that it cannot imitate (but in the framework's own prompts), and a judge's response that the next rule cannot read
decides nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mmconvert.core.errors import RowError
from mmscore.core.judge import LEAVE, Case, Judge, JudgeQuestion, NoVerdict, Step, Verdict, fence_text
from mmscore.kits.mmtrusteval.connections import add_classifiers
from mmscore.kits.mmtrusteval.evaluators import EvaluatorContext
from mmscore.kits.mmtrusteval.kit_prompts import TASK_PROMPTS
from mmscore.kits.mmtrusteval.releases import KIT, VERSIONS
from mmscore.kits.mmtrusteval.rows import build_chains, list_outputs, read_parsed
from mmscore.kits.mmtrusteval.task_file import CHAINS, read_chains
from mmscore.kits.mmtrusteval.tasks import QUESTIONS, TEMPLATE, Config, find_task

CHAIN = "chain"


class _UnansweredError(Exception):
    """The chain asks something that has no response yet."""

    def __init__(self, question: JudgeQuestion) -> None:
        self.question = question


def _decide_step(case: Case, responses: Sequence[str]) -> Step:
    if case.scores:
        return LEAVE
    chains = read_chains(case.options) if CHAINS in case.options else find_task(case.item.dataset).chains
    configs = [_add_prompt(chain, case.wording) for chain in chains]
    try:
        # Parsed and scores walk the chain once each, and each from the first response on.
        parsed = read_parsed(build_chains(configs, _build_context(responses, case), case.version)[0], case.item)
        if parsed.value is None:
            return NoVerdict("the judge's response has nothing that the next rule reads")
        return Verdict(
            parsed, list_outputs(build_chains(configs, _build_context(responses, case), case.version), case.item)
        )
    except _UnansweredError as asked:
        return asked.question
    except RowError as error:
        return NoVerdict(f"{error.field}: {error.message}")


def _build_context(responses: Sequence[str], case: Case) -> EvaluatorContext:
    following = iter(responses)

    def ask(model: str, prompt: str, generation: Mapping[str, Any]) -> str:
        for response in following:
            return response
        # Turn the framework's settings of a generation into options of a chat completion.
        tokens = generation.get("max_new_tokens")
        raise _UnansweredError(JudgeQuestion(prompt, {} if tokens is None else {"max_tokens": tokens}))

    return add_classifiers(EvaluatorContext(ask=ask, shown=str if case.from_kit else fence_text), case.options)


def _add_prompt(chain: Config, prompt: str | None) -> Config:
    if prompt is None:
        return chain
    return {name: {**own, TEMPLATE: prompt} if TEMPLATE in own else own for name, own in chain.items()}


JUDGE = Judge(
    summary="What MMTrustEval's chains ask a chat model about each response",
    parity=KIT,
    versions=VERSIONS,
    strategies={CHAIN: "asks what the dataset's chain asks, about rows whose log lacks the answer"},
    auto=CHAIN,
    columns=("dataset", "extra"),
    step=_decide_step,
    tries=QUESTIONS,
    slots=("pred", "label"),
    kit_prompts=TASK_PROMPTS,
)
