"""The arguments of ReForm-Eval's data loader."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import msgspec

from mmconvert.core.errors import UsageError
from mmconvert.kits.reform_eval.conversation_text import Processor, build_round, format_conversation
from mmconvert.kits.reform_eval.pools import Pool, load_pools

Write = Callable[[Mapping[str, Any], Processor, Random], str]
"""(sample, settings, draws) -> the text that a model reads."""

Finish = Callable[[str, Sequence[Any] | None, Any, Processor, Random], tuple[str, str]]
"""(question, options, answer, settings, draws) -> the texts of a finished round."""


def _list_no_choices(kind: str) -> Sequence[str]:
    raise UsageError(f"there is no list of answers to draw options from for questions on {kind or 'numbers'}. Give it.")


class Setup(msgspec.Struct, frozen=True):
    """Arguments of the framework's `load_reform_dataset`, with its defaults, and what it finds elsewhere.

    Attributes:
        dataset_name: A name that `loader.DATASETS` knows.
        formulation: SingleChoice, Generation, OCROpenEnded or KIEOpenEnded.
        config: The dataset's configuration (version, split, task, instruct_kind, ...).
        inference_method: generation or likelihood.
        in_context_sample: Put a one-shot example into the history.
        random_instruct: Take another instruction for each copy of a sample, not for each sample.
        data_duplication: Copies of each sample.
        shuffle_options: Draw the options' order.
        option_mark: Marks in `question_with_option`; anything but upper, lower, number draws them.
        online_multi_round: Put the model's answers into the history of a conversation.
        processor: Settings of what writes `text`; its marks are its own.
        pools: Instructions and examples by the framework's class.
        write: Writes `text` with these settings; None leaves it out.
        finish: Words the rounds of a conversation with these settings.
        choices: Gives all answers to a type of question, of which three are drawn as wrong options.
        capitalize: Begin the questions and options of conversations with a capital.
        answer_space_instruct: Let CLEVR's instructions end with answers (not CLEVR's own) for likelihood. The
            framework's `load_reform_dataset` never says it and fails there; its `run_eval` does not unless asked to.
    """

    dataset_name: str
    formulation: str
    config: Mapping[str, Any] = msgspec.field(default_factory=dict)
    inference_method: str = "generation"
    in_context_sample: bool = True
    random_instruct: bool = True
    data_duplication: int = 5
    shuffle_options: bool = True
    option_mark: str | None = "random"
    online_multi_round: bool = True
    processor: Processor | None = None
    pools: Mapping[str, Pool] = msgspec.field(default_factory=load_pools)
    write: Write | None = format_conversation
    finish: Finish = build_round
    choices: Callable[[str], Sequence[str]] = _list_no_choices
    capitalize: bool = True
    answer_space_instruct: bool = False
