"""Replay a conversation as VLMEvalKit does: the user's turns unchanged, the model's responses between them.

Each copy of a conversation continues with its own responses. A response that failed ends the conversation there:
VLMEvalKit
continues with the text of the failure.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mmconvert.core.errors import RowError
from mmconvert.core.record import Part, Record, Turn
from mmscore.infer.protocol import Before, Protocol, require_response_text


def replay(record: Record, before: Before, parameters: Mapping[str, Any]) -> tuple[Turn, ...]:
    """Put the model's responses in the place of the assistant's last turns.

    Args:
        record: The row; turns of the assistant that go before the conversation (examples) stay.
        before: The responses so far.
        parameters: None.

    Raises:
        RowError: `history.order`: user and assistant do not alternate, with the user first and last;
            `history.short`: there are fewer turns than rounds; `history.missing`: a round has no response.

    Parity: open-compass/VLMEvalKit@e8e78f0 vlmeval/inference_mt.py:chat_mt.
    """
    _check_order(record.messages)
    responses = [_find_own_response(responses, record, number) for number, responses in enumerate(before.rounds)]
    places = [place for place, turn in enumerate(record.messages) if turn.role == "assistant"]
    if len(places) < len(responses):
        raise RowError(
            "history.short",
            "messages",
            f"there are {len(places)} turns of the assistant before round {len(responses)}.",
        )
    messages = list(record.messages)
    for place, text in zip(places[len(places) - len(responses) :], responses, strict=True):
        messages[place] = Turn("assistant", (Part("text", text),))
    return tuple(messages)


def _find_own_response(responses: Sequence[Any], record: Record, number: int) -> str:
    return require_response_text(
        next((response for response in responses if response.variant == (record.variant or 0)), None), number
    )


def _check_order(messages: Sequence[Turn]) -> None:
    """Refuse what is no conversation; positions count from 1, a system turn included."""
    start = 1 if messages and messages[0].role == "system" else 0
    for place, turn in enumerate(messages[start:]):
        wanted = "assistant" if place % 2 else "user"
        if turn.role != wanted:
            raise RowError(
                "history.order", "messages", f"turn {start + place + 1} is of the role {turn.role!r}, not {wanted!r}."
            )
    if (len(messages) - start) % 2 == 0:
        raise RowError(
            "history.order", "messages", f"turn {len(messages)} is not the user's; a conversation ends with one."
        )


PROTOCOL = Protocol(summary="Replay the user's turns with the model's own responses between them", history=replay)
