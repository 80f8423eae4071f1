"""Hold a conversation as ReForm-Eval does online: what most copies of a question were answered is the round's answer.

The rounds of its VisDial and VQA-MT files keep their questions and options in `extra.history`. Online the
model's choice takes the place of the right one; offline, without a protocol, the right one stands there.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from mmconvert.core.errors import RowError, UsageError, suggest_spelling
from mmconvert.core.record import LETTERS, Record, Turn
from mmconvert.kits.reform_eval.conversation_text import ALPHABETS, Processor, build_round
from mmconvert.kits.reform_eval.conversations import read_earlier_rounds, replace_history
from mmconvert.plugins.transform import Setting
from mmscore.infer.protocol import Before, Protocol, Reply, require_response_text
from mmscore.parsers.reform_choice import reform_choice

RANDOM = "random"


def vote(record: Record, before: Before, parameters: Mapping[str, Any]) -> tuple[Turn, ...]:
    """Word the rounds before a question with what the model answered.

    Generated answers are shown with the options of the round in the source's order and their mark,
    answers by likelihood as bare question and option.

    Args:
        record: The row.
        before: The responses so far.
        parameters: `mark` (upper, lower, number, random) and `prefix`, how answers begin: as given to the
            transform `options_in_history`; `seed` of the draws of `random`, one a round.

    Raises:
        RowError: `history.short`: `extra.history` does not hold the rounds; `history.missing`: a copy of a
            round has no response.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 build/VisDial/visual_dialog_dataset.py:update_history,
    run_eval.py:get_pred_result.
    """
    earlier = read_earlier_rounds(record)
    if len(earlier) < len(before.rounds):
        raise RowError(
            "history.short",
            "extra.history",
            f"holds {len(earlier)} rounds, but the row is round {len(before.rounds)}. Convert ReForm-Eval's own file.",
        )
    writer = Processor("", mark=parameters["mark"], response_prefix=parameters["prefix"] or None)
    setting, said = Setting("reform_eval", parameters["seed"]), []
    for number, (asked, responses) in enumerate(zip(earlier, before.rounds, strict=False)):
        answer = _find_majority([_read_answer(one, number, chosen=before.chosen) for one in responses or (None,)])
        if before.chosen:
            said.append((asked["question"], answer))
            continue
        draws = setting.random(record.group or record.sample, str(number))
        said.append(build_round(asked["question"], asked["answer_options"], answer, writer, draws))
    return replace_history(record.messages, said)


def _read_answer(response: Reply | None, number: int, *, chosen: bool) -> str:
    """Give the option that a response names, the response itself where it names none."""
    text, options = require_response_text(response, number), response.options if response else ()
    letter = text if chosen else reform_choice(text).value
    place = LETTERS.find(letter) if letter else -1
    option = options[place] if 0 <= place < len(options) else None
    # A response without a mark that is an option to the letter stands for it, and so for itself.
    return text if option is None else option


def _find_majority(answers: Sequence[str]) -> str:
    """Give the most common answer, of several the one that came first.

    Example:
        >>> _find_majority(["no", "yes", "maybe", "yes", "no"])
        'no'
    """
    return Counter(answers).most_common(1)[0][0]


def _check(parameters: Mapping[str, Any]) -> None:
    known = [*ALPHABETS, RANDOM]
    if parameters["mark"] not in known:
        hint = suggest_spelling(parameters["mark"], known)
        raise UsageError(f"reform_eval: no mark is called {parameters['mark']!r}.{hint} Known: {', '.join(known)}.")


PROTOCOL = Protocol(
    summary="ReForm-Eval's online rounds: the majority of a question's copies goes into the history",
    history=vote,
    parameters={"mark": "upper", "prefix": "", "seed": 0},
    check=_check,
)
