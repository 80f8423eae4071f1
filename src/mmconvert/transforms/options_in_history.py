"""Show the options in the rounds before a conversation's question too: ReForm-Eval's way to generate."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from mmconvert.core.errors import UsageError, suggest_spelling
from mmconvert.core.record import Record
from mmconvert.kits.reform_eval.conversation_text import ALPHABETS, Processor, build_round
from mmconvert.kits.reform_eval.conversations import read_earlier_rounds, replace_history
from mmconvert.plugins.transform import Setting, Transform

RANDOM = "random"


def options_in_history(record: Record, parameters: Mapping[str, Any], setting: Setting) -> Iterator[Record]:
    """Word the rounds before a question with their options, and the answers with their marks.

    Args:
        record: The record; one without rounds before it stays as it is.
        parameters: `mark` (upper, lower, number, random); `prefix`, how the answers begin.
        setting: Seed of the draws, which hang on conversation and round besides: a round looks the same in all
            records that it stands before.

    Yields:
        The record.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 utils/preprocessors.py:process_qa, drawn from a seed.
    """
    rounds = read_earlier_rounds(record)
    if rounds:
        writer = Processor("", mark=parameters["mark"], response_prefix=parameters["prefix"] or None)
        said = []
        for number, one in enumerate(rounds):
            chance = setting.random(record.group or record.sample, str(number), str(record.variant))
            said.append(build_round(one["question"], one["answer_options"], one["answer"], writer, chance))
        record = replace(record, messages=replace_history(record.messages, said))
    yield record


def _check(parameters: Mapping[str, Any]) -> None:
    known = [*ALPHABETS, RANDOM]
    if parameters["mark"] not in known:
        hint = suggest_spelling(parameters["mark"], known)
        message = f"no mark is called {parameters['mark']!r}.{hint} Known: {', '.join(known)}."
        raise UsageError(f"options_in_history: {message}")


TRANSFORM = Transform(
    summary="Show the options in the earlier rounds of a conversation (ReForm-Eval's options_in_history)",
    apply=options_in_history,
    parameters={"mark": "upper", "prefix": ""},
    check=_check,
)
