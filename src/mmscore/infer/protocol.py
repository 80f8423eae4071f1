"""What a protocol of conversations is: how responses become the history of later rounds.

A conversation is the rows of one `group`, distinguished by `round` (from 0) and, where a question has copies, by
`variant`. Without a protocol the history of a row is the dataset's, with the right answers.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from mmconvert.core.errors import RowError, UsageError
from mmconvert.core.plugin_struct import PluginStruct
from mmconvert.core.record import Record, Turn
from mmconvert.plugins.arguments import convert_arguments, parse_spec
from mmconvert.plugins.registry import load

GROUP = "mmscore.infer.protocols"


class Reply(PluginStruct, frozen=True):
    """What the model said to one copy of a question.

    Attributes:
        options: The options as that copy showed them.
        text: The response, an option's letter where options were chosen by their likelihood; None when
            there is none.
        variant: Which copy, from 0.
    """

    options: tuple[str | None, ...]
    text: str | None
    variant: int = 0


class Before(PluginStruct, frozen=True):
    """What was said before a row.

    Attributes:
        rounds: The responses to each earlier round of its conversation, copies in their order; () for a first
            round and for a row that belongs to no conversation.
        chosen: Responses are letters of options, chosen by their likelihood.
    """

    rounds: tuple[tuple[Reply, ...], ...]
    chosen: bool


History = Callable[[Record, Before, Mapping[str, Any]], tuple[Turn, ...]]


class Protocol(PluginStruct, frozen=True):
    """A framework's way to hold a conversation.

    Attributes:
        summary: One line for `mmscore list`.
        history: (record, what was said before, parameters) -> the turns to ask with; raises RowError for
            a row that cannot be asked.
        parameters: Default by name; a type (bool, int, float, str) stands for one without default.
        check: Looks at the parameters once; raises UsageError.
    """

    summary: str
    history: History
    parameters: Mapping[str, Any] = msgspec.field(default_factory=dict)
    check: Callable[[Mapping[str, Any]], None] | None = None


class Playing(PluginStruct, frozen=True):
    """A protocol with its parameters, and how the user wrote it."""

    spec: str
    protocol: Protocol
    parameters: Mapping[str, Any]


def open_protocol(spec: str) -> Playing:
    """Load a protocol by what the user wrote.

    Args:
        spec: `NAME:k=v,...` or `file.py@name:k=v,...`.

    Raises:
        UsageError: Name or parameter is unknown, or a parameter has a wrong value.
    """
    name, values = parse_spec(spec)
    protocol = load(GROUP, name)
    if not isinstance(protocol, Protocol):
        raise UsageError(f"{name}: is not a Protocol. Name an object of mmscore.infer.protocol.Protocol.")
    parameters = convert_arguments(name, values, protocol.parameters)
    if protocol.check is not None:
        protocol.check(parameters)
    return Playing(spec, protocol, parameters)


def require_response_text(response: Reply | None, number: int) -> str:
    """Give the text of a response that must be there.

    Args:
        response: The response, None where the round has no such copy.
        number: The round, from 0, for the message.

    Raises:
        RowError: There is none.
    """
    if response is None or response.text is None:
        raise RowError(
            "history.missing", "round", f"round {number} of the conversation has no response, so this one waits."
        )
    return response.text
