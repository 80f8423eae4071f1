"""ReForm-Eval's wording: instruction, question, `Options: (A) x; (B) y.`; or the whole dialogue as one text."""

from random import Random
from typing import Literal

from mmconvert.errors import RowError, UsageError, did_you_mean
from mmconvert.kits.reform_eval.dialogue import FIRST_QUERIES, Processor, dialogue_text, question_with_options
from mmconvert.record import Record
from mmconvert.rewording import last_turn_images, words
from mmconvert.wording import Wording, pictures_first

Mark = Literal["upper", "lower", "number", "random"]
Style = Literal["chat", "one", "two", "llama_2", "otter", "llama_adapter2", "visualglm"]
OPTION_MARK = "option_mark"
"""Field of `extra` in which the transform of that name keeps the marks it chose."""

HUMAN = {"user": "human", "assistant": "assistant"}


def reform_eval(
    record: Record,
    mark: Mark | None = None,
    seed: int = 0,
    style: Style = "chat",
    sep: str = "\n",
    sep2: str | None = None,
    roles: str = "User|Bot",
    system: str | None = None,
    first_query: str = "none",
    method: Literal["generation", "likelihood"] = "generation",
    response_prefix: str | None = None,
) -> Wording:
    """Word a question as ReForm-Eval does.

    Args:
        record: The question; its instruction goes first.
        mark: Marks of the options; None takes those of the transform `option_mark`, else `upper`.
        seed: Draws the marks, together with the record's id.
        style: `chat` words the last turn alone. Any other writes the whole dialogue, earlier turns
            included, as one text for models without turns (`--template raw`).
        sep: Ends a turn; a backslash and n stand for a line break, as on the command line.
        sep2: Ends a turn of the assistant, likewise.
        roles: Names of user and assistant, `|` between them.
        system: Text that goes first.
        first_query: A name of `FIRST_QUERIES`.
        method: `likelihood` leaves the options out.
        response_prefix: How the response begins; not in the style `chat`.

    Returns:
        The pictures (of the last turn in the style `chat`, of the record elsewhere) and the text.

    Raises:
        UsageError: A name is unknown, or `response_prefix` has no place.
        RowError: The options have a gap, or there are more than marks.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 utils/preprocessors.py:ConvSingleChoiceProcessor.
    """
    if None in record.options:
        raise RowError("options.gap", "options", "ReForm-Eval marks options without a gap. Leave the row out.")
    if style == "chat" and response_prefix is not None:
        raise UsageError("response_prefix goes with a style that writes the whole dialogue, not with style=chat.")
    if first_query not in FIRST_QUERIES:
        hint = did_you_mean(first_query, FIRST_QUERIES)
        raise UsageError(f"no first_query is called {first_query!r}.{hint} Known: {', '.join(FIRST_QUERIES)}.")
    user, _, assistant = roles.partition("|")
    processor = Processor(
        sep=_unescaped(sep),
        sep2=None if sep2 is None else _unescaped(sep2),
        roles=(user, assistant),
        system=system,
        first_query=FIRST_QUERIES[first_query],
        style=style,
        mark=mark or record.extra.get(OPTION_MARK, "upper"),
        method=method,
        response_prefix=response_prefix,
    )
    rng = Random(f"{seed}:{record.id}")
    if style == "chat":
        options = record.options if record.options and method == "generation" else None
        asked = question_with_options(record.question or "", options, processor.alphabet(rng))
        slots = tuple(image.slot for image in last_turn_images(record))
        return pictures_first(f"{record.instruction} {asked}" if record.instruction else asked, slots)
    sample = {
        "question": record.question or "",
        "answer_options": record.options or None,
        "instruct": record.instruction,
        "history": [{"from": HUMAN[t.role], "value": words(t)} for t in record.messages[:-1] if t.role in HUMAN],
    }
    slots = tuple(dict.fromkeys(image.slot for image in record.images))
    return pictures_first(dialogue_text(sample, processor, rng), slots)


def _unescaped(text: str) -> str:
    return text.replace("\\n", "\n").replace("\\t", "\t")


PROMPT = reform_eval
