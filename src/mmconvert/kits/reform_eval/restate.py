"""Records whose question, options or instruction changed: the order of options, and the prompt to match."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from msgspec.structs import replace

from mmconvert.core.errors import RowError, show
from mmconvert.core.record import LETTERS, OPTION_MARK, Record, encode_json
from mmconvert.core.text.json import parse_json
from mmconvert.core.text.turns import build_plain_prompt_parts, replace_prompt
from mmconvert.kits.reform_eval.conversation_text import Processor, build_chat_prompt

RAW_OPTIONS = ("options", "answer_options")
"""Fields of `extra` in which formats keep options as the source wrote them."""


def restate_question(record: Record) -> Record:
    """Word the last user turn again from the record's fields.

    Args:
        record: A record with a question.

    Returns:
        The record; with an instruction or chosen marks it asks as ReForm-Eval does, else the plain way.
        `--prompt` words it again.

    Raises:
        RowError: There is no question to word.
    """
    if record.question is None:
        raise RowError("question.missing", "question", "the row has no question of its own to word again.")
    if record.instruction is None and OPTION_MARK not in record.extra:
        return replace_prompt(record, build_plain_prompt_parts(record))
    settings = Processor(sep="\n", mark=record.extra.get(OPTION_MARK, "upper"))
    return replace_prompt(record, build_chat_prompt(record, settings, Random(f"0:{record.id}")))


def reorder_options(record: Record, order: Sequence[int]) -> Record:
    """Put the options into another order; answer and label follow, and the prompt with them.

    Args:
        record: A record with options.
        order: For each letter from A, the place at which its option stood.

    Returns:
        The record.

    Raises:
        RowError: The answer is none of the options' letters, or there is no question.
    """
    options = tuple(record.options[place] for place in order)
    extra = {name: value for name, value in record.extra.items() if name not in RAW_OPTIONS}
    changed = replace(record, options=options, extra=extra)
    if record.answer is None:
        return restate_question(changed)
    letters = {LETTERS[place]: LETTERS[now] for now, place in enumerate(order)}
    if not record.answer or not all(letter in letters for letter in record.answer):
        raise RowError(
            "answer.not_an_option", "answer", f"it names none of the options' letters {show(record.answer)}."
        )
    answer = "".join(sorted(letters[letter] for letter in record.answer))
    label = record.label and encode_json(_move_label(parse_json(record.label), record.answer, answer))
    return restate_question(replace(changed, answer=answer, answers=(answer,) if record.answers else (), label=label))


def _move_label(label: Any, before: str, after: str) -> Any:
    """Give a reference that names an option by letter or index its new name; one by its text keeps it."""
    if len(before) != 1:
        return after if isinstance(label, str) and label.strip().upper() == before else label
    names: Mapping[Any, Any] = {before: after, str(LETTERS.index(before)): str(LETTERS.index(after))}
    if isinstance(label, str):
        return names.get(label.strip().upper(), label)
    if isinstance(label, int) and not isinstance(label, bool) and label == LETTERS.index(before):
        return LETTERS.index(after)
    return label
