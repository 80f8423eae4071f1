"""ReForm-Eval's prompt template: instruction, question, `Options: (A) x; (B) y.`; or the whole dialogue as one text."""

import inspect
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Literal

from msgspec.structs import replace

from mmconvert.core.errors import RowError, UsageError, show, suggest_spelling
from mmconvert.core.record import OPTION_MARK, Record
from mmconvert.core.text.prompt_parts import Wording, put_images_first
from mmconvert.core.text.turns import join_texts
from mmconvert.kits.reform_eval import conversation_text

Mark = Literal["upper", "lower", "number", "random"]
Style = Literal["chat", "one", "two", "llama_2", "otter", "llama_adapter2", "visualglm"]
Class = Literal["conv", "mmgpt", "single_choice", "base"]

WRITERS: dict[str, Callable[[Mapping[str, Any], conversation_text.Processor, Random], str]] = {
    "conv": conversation_text.format_conversation,
    "mmgpt": conversation_text.format_mmgpt,
    "single_choice": conversation_text.format_question_answer,
    "base": lambda sample, processor, rng: conversation_text.format_plain(sample, processor),
}
"""Processor -> what writes its text."""

_ALWAYS = {"processor", "sep_style", "infer_method"}
_TURNS = {*_ALWAYS, "alphabet_choice", "seed", "sep", "sep2", "roles", "first_query_fn", "init_conv", "response_prefix"}
HONOURED = {
    "chat": {*_ALWAYS, "alphabet_choice", "seed", "response_prefix"},
    "conv": {*_TURNS, "system_msg"},
    "mmgpt": _TURNS,
    "single_choice": {"processor", "infer_method", "alphabet_choice", "seed", "sep", "sep2", "roles"},
    "base": {"processor", "sep", "sep2", "roles"},
}
"""Processor, or the style `chat` -> the options that bear on its text."""


HUMAN = {"user": "human", "assistant": "assistant"}


def reform_eval(
    record: Record,
    processor: Class = "conv",
    sep_style: Style = "chat",
    alphabet_choice: Mark | None = None,
    seed: int = 0,
    infer_method: Literal["generation", "likelihood"] = "generation",
    sep: str = "\n",
    sep2: str | None = None,
    roles: str = "User|Bot",
    system_msg: str | None = None,
    first_query_fn: str = "none",
    init_conv: str | None = None,
    response_prefix: str | None = None,
) -> Wording:
    """Word a question as ReForm-Eval does; the options bear the framework's names.

    Args:
        record: The question; its instruction goes first.
        processor: `conv` and `mmgpt` write dialogues, `single_choice` a question and `Answer:` as BLIP-2 reads it,
            `base` the same without options.
        sep_style: `chat` words the last turn alone. Any other writes the whole dialogue, earlier turns
            included, as one text for models without turns (`--template raw`), as `single_choice` and `base` do.
        alphabet_choice: Marks of the options; None takes those of the transform `option_mark`, else `upper`.
        seed: Draws the marks, together with the record's id.
        infer_method: `likelihood` leaves the options out, and the response's beginning.
        sep: Ends a turn; a backslash and n stand for a line break, as on the command line.
        sep2: Ends a turn of the assistant, likewise.
        roles: Names of user and assistant, `|` between them.
        system_msg: Text that goes first.
        first_query_fn: A name of `FIRST_QUERIES`.
        init_conv: Turns that go before every dialogue, `ROLE:TEXT` each, `|` between them.
        response_prefix: How the response begins; in the style `chat` an assistant's turn to be gone on with.

    Returns:
        The images (of the last turn in the style `chat`, of the record elsewhere) and the text.

    Raises:
        UsageError: A name is unknown, or an option has no place in the text.
        RowError: The options have a gap, or there are more than marks.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 utils/preprocessors.py.
    """
    given = {name: value for name, value in locals().items() if name in _DEFAULTS and value != _DEFAULTS[name]}
    chat = sep_style == "chat" and processor == "conv"
    _require_honoured(given, "chat" if chat else processor)
    if None in record.options:
        raise RowError("options.gap", "options", "ReForm-Eval marks options without a gap. Leave the row out.")
    if first_query_fn not in conversation_text.FIRST_QUERIES:
        hint = suggest_spelling(first_query_fn, conversation_text.FIRST_QUERIES)
        queries = ", ".join(conversation_text.FIRST_QUERIES)
        raise UsageError(f"no first_query_fn is called {first_query_fn!r}.{hint} Known: {queries}.")
    user, _, assistant = roles.partition("|")
    settings = conversation_text.Processor(
        sep=_unescape(sep),
        sep2=None if sep2 is None else _unescape(sep2),
        roles=(user, assistant),
        system=None if system_msg is None else _unescape(system_msg),
        first_query=conversation_text.FIRST_QUERIES[first_query_fn],
        opening=_split_turns(init_conv),
        style=sep_style,
        mark=alphabet_choice or record.extra.get(OPTION_MARK, "upper"),
        method=infer_method,
        response_prefix=response_prefix,
    )
    rng = Random(f"{seed}:{record.id}")
    if chat:
        return conversation_text.build_chat_prompt(record, settings, rng)
    sample = {
        "question": record.question or "",
        "answer_options": record.options or None,
        "instruct": record.instruction,
        "history": [{"from": HUMAN[t.role], "value": join_texts(t)} for t in record.messages[:-1] if t.role in HUMAN],
    }
    slots = tuple(dict.fromkeys(image.slot for image in record.images))
    shows_options = infer_method == "generation" and processor != "base"
    known = conversation_text.ALPHABETS.get(settings.mark or "") if shows_options else ""
    names = None if known is None else known[: len(record.options)]
    return replace(put_images_first(WRITERS[processor](sample, settings, rng), slots), names=names)


_DEFAULTS = {name: one.default for name, one in inspect.signature(reform_eval).parameters.items() if name != "record"}


def _require_honoured(given: dict[str, Any], writer: str) -> None:
    lost = next((name for name in given if name not in HONOURED[writer]), None)
    if lost is not None:
        places = [name for name in HONOURED if lost in HONOURED[name] and name != "chat"]
        what = "the style chat" if writer == "chat" else f"processor={writer}"
        style = " and a sep_style that writes the whole dialogue" if writer == "chat" else ""
        raise UsageError(f"{lost} has no place in {what}. It goes with processor={' or '.join(places)}{style}.")


def _split_turns(text: str | None) -> tuple[tuple[str, str], ...]:
    turns = [] if text is None else [turn.partition(":") for turn in _unescape(text).split("|")]
    if any(not colon for _, colon, _ in turns):
        raise UsageError(f"init_conv is written ROLE:TEXT|ROLE:TEXT {show(text)}.")
    return tuple((role, said) for role, _, said in turns)


def _unescape(text: str) -> str:
    return text.replace("\\n", "\n").replace("\\t", "\t")


PROMPT = reform_eval
