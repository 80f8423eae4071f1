"""Put a finished round before a multiple-choice question, to show the form of an answer: ReForm-Eval's one-shot."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mmconvert.chat.conversations import MESSAGES_EXTRA
from mmconvert.core.record import Part, Record, Turn
from mmconvert.kits.reform_eval.families import FAMILIES
from mmconvert.kits.reform_eval.pools import OWN_EXAMPLE, read_pools
from mmconvert.plugins.transform import Setting, Transform

ROLES = {"human": "user", "assistant": "assistant"}


def in_context_sample(record: Record, parameters: Mapping[str, Any], setting: Setting) -> Iterator[Record]:
    """Put an example round before a record's turns; the image moves to it, as the conversation now begins there.

    Args:
        record: The record; `category` names its family, others take VQA's example. One without options or
            without a user turn stays as it is.
        parameters: `prefix`, how the example's answer begins; `pools`, a checkout of ReForm-Eval or a file of
            examples.
        setting: Counts the records that get our words.

    Yields:
        The record.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 build/*/*.py:in_context_history; the words are the project's own
        unless `pools` gives others.
    """
    pools = read_pools(Path(parameters["pools"]) if parameters["pools"] else None)
    name = record.category if record.category in FAMILIES else "VQA"
    example = pools[FAMILIES[str(name)].pool].example
    if record.options and example:
        if not parameters["pools"]:
            setting.warnings[OWN_EXAMPLE] += 1
        said = [(ROLES[turn["from"]], turn["value"]) for turn in example]
        start = f"{parameters['prefix']} " if parameters["prefix"] else ""
        said = [(role, start * (role == "assistant") + text) for role, text in said]
        fields = record.extra.get(MESSAGES_EXTRA)
        at = _find_first_user_turn(record.messages)
        if at is not None and isinstance(fields, list):
            moved = [*fields[:at], *({} for _ in said), *fields[at:]]
            record = replace(record, extra={**record.extra, MESSAGES_EXTRA: moved})
        record = replace(record, messages=prepend_turns(record.messages, said))
    yield record


def _find_first_user_turn(messages: Sequence[Turn]) -> int | None:
    return next((number for number, turn in enumerate(messages) if turn.role == "user"), None)


def prepend_turns(messages: Sequence[Turn], said: Sequence[tuple[str, str]]) -> tuple[Turn, ...]:
    """Put turns before the first user turn; its images go first in them.

    Args:
        messages: A conversation.
        said: Roles and texts; the first one is the user's.

    Returns:
        The conversation; unchanged without a user turn.

    Example:
        >>> asked = Turn("user", (Part("image"), Part("text", "Red?")))
        >>> turns = prepend_turns([asked], [("user", "See?"), ("assistant", "Yes.")])
        >>> [[part.type for part in turn.content] for turn in turns]
        [['image', 'text'], ['text'], ['text']]
    """
    at = _find_first_user_turn(messages)
    if at is None:
        return tuple(messages)
    shown = tuple(part for part in messages[at].content if part.type == "image")
    rest = tuple(part for part in messages[at].content if part.type != "image") or (Part("text", ""),)
    turns = [Turn(role, (Part("text", text),)) for role, text in said]
    turns[0] = Turn(turns[0].role, (*shown, *turns[0].content))
    return (*messages[:at], *turns, Turn("user", rest), *messages[at + 1 :])


TRANSFORM = Transform(
    summary="Put a finished round before multiple-choice questions (ReForm-Eval's in_context_sample)",
    apply=in_context_sample,
    parameters={"prefix": "", "pools": ""},
    check=lambda parameters: read_pools(Path(parameters["pools"]) if parameters["pools"] else None),
)
