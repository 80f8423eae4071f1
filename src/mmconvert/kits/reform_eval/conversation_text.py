"""ReForm-Eval's prompts: what its preprocessors make of a sample, as one text.

A dialogue becomes the plain text that a model of 2023 was trained on: one function a preprocessor, one
entry of `STYLES` a way to set the turns apart. An empty message is the place where the model answers,
wherever it stands. Source: FudanDISC/ReForm-Eval@df1cfa7 utils/preprocessors.py, utils/data_utils.py.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import add
from random import Random
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import msgspec
from msgspec.structs import replace

from mmconvert.core.errors import RowError, UsageError, show, suggest_spelling
from mmconvert.core.record import Record
from mmconvert.core.text.prompt_parts import Wording, put_images_first
from mmconvert.core.text.turns import list_last_turn_images

ALPHABETS = {"lower": ascii_lowercase, "upper": ascii_uppercase, "number": "123456789"}
"""What marks the options; a draw takes one of them in this order."""

FIRST_QUERIES: dict[str, Callable[[str], str]] = {
    "none": str,
    "prefix_image": partial(add, "<image> "),
    "llava": partial(add, "<image>\n"),
    "pandagpt": partial(add, "<Img></Img> "),
    "minigpt4": partial(add, "<Img><ImageHere></Img> "),
}
"""How the model interfaces put the image into the first question."""

# Interface literal of mmGPT. Source: FudanDISC/ReForm-Eval@df1cfa7 utils/preprocessors.py
MMGPT_SYSTEM = (
    "Below is an instruction that describes a task. Write a response that appropriately completes the request."
)

Turns = Sequence[tuple[str, str]]


class Processor(msgspec.Struct, frozen=True):
    r"""Settings of a preprocessor.

    Attributes:
        sep: Ends a turn.
        sep2: Ends a turn of the assistant, for the styles that tell the two apart.
        roles: Names of user and assistant.
        system: Text that goes first; None for none (the style llama_2 then prints "None").
        first_query: Changes the first message behind the opening.
        opening: Turns that go before every dialogue.
        style: A key of `STYLES`.
        mark: A key of `ALPHABETS`; None or `random` draws one again each time.
        method: `likelihood` leaves out the options of a dialogue and the response's beginning.
        response_prefix: How the response begins.
    """

    sep: str
    sep2: str | None = None
    roles: tuple[str, str] = ("User", "Bot")
    system: str | None = None
    first_query: Callable[[str], str] = str
    opening: tuple[tuple[str, str], ...] = ()
    style: str = "two"
    mark: str | None = None
    method: str = "generation"
    response_prefix: str | None = None

    @property
    def prefix(self) -> str | None:
        """How the response begins with this method."""
        return None if self.method == "likelihood" else self.response_prefix

    def choose_labels(self, rng: Random) -> str:
        """Choose the marks of the options.

        Raises:
            UsageError: The mark is unknown.
        """
        if self.mark not in (None, "random", *ALPHABETS):
            known = ", ".join([*ALPHABETS, "random"])
            raise UsageError(f"no option mark is called {self.mark!r}. Known: {known}.")
        return choose_labels(self.mark, rng)


def choose_labels(mark: str | None, rng: Random) -> str:
    """Choose the marks of the options; anything that is no name of marks draws them.

    Example:
        >>> choose_labels("number", Random(0))
        '123456789'
    """
    return ALPHABETS[mark] if mark in ALPHABETS else rng.choice([*ALPHABETS.values()])


def build_question_with_options(question: str, options: Sequence[Any] | None, marks: str) -> str:
    """Write the options behind a question.

    Args:
        question: The question.
        options: Options in order; None leaves the question as it is.
        marks: One character an option.

    Raises:
        RowError: There are more options than marks.

    Example:
        >>> build_question_with_options("Is it red?", ["yes", "no"], "ABC")
        'Is it red? Options: (A) yes; (B) no.'
    """
    if options is None:
        return question
    if len(options) > len(marks):
        raise RowError("options.count", "options", f"{len(options)} options, but only {len(marks)} marks {marks}.")
    listed = "; ".join(f"({mark}) {option}" for mark, option in zip(marks, options, strict=False))
    return f"{question} Options: {listed}{'.' if options else ''}"


def build_labeled_question(sample: Mapping[str, Any], mark: str | None, rng: Random) -> str:
    """Write a sample's question with its options.

    Args:
        sample: `question`, and `answer_options` where it has any.
        mark: Name of the marks; anything that is none draws them, but only where there are options.
        rng: Draws the marks.

    Raises:
        RowError: There is no question, or there are more options than marks.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 utils/data_utils.py:question_with_options.

    Example:
        >>> build_labeled_question({"question": "Red?", "answer_options": ["yes", "no"]}, "lower", Random(0))
        'Red? Options: (a) yes; (b) no.'
    """
    if not isinstance(sample.get("question"), str):
        raise RowError("question.missing", "question", f"expected a text {show(sample.get('question'))}.")
    options = sample.get("answer_options")
    return build_question_with_options(sample["question"], options, "" if options is None else choose_labels(mark, rng))


def build_round(
    question: str, options: Sequence[Any] | None, answer: Any, processor: Processor, rng: Random
) -> tuple[str, str]:
    """Word a finished round of a dialogue.

    Args:
        question: The question.
        options: Its options, None for none.
        answer: Index of an option, or a text; one that is no option goes without a mark.
        processor: Marks and beginning of the response.
        rng: Draws the marks, once for both texts.

    Returns:
        The question with its options, and the answer as the assistant gave it.

    Raises:
        RowError: There are no options to look the answer up in, or it is the index of none.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 utils/preprocessors.py:process_qa.

    Example:
        >>> build_round("Red?", ["yes", "no"], "no", Processor("", mark="upper"), Random(0))
        ('Red? Options: (A) yes; (B) no.', '(B) no')
    """
    if options is None:
        raise RowError("options.missing", "options", f"there are no options to find the answer in {show(answer)}.")
    marks = processor.choose_labels(rng)
    asked = build_question_with_options(question, options, marks)
    if isinstance(answer, int):
        if not 0 <= answer < len(options):
            raise RowError("answer.range", "answer", f"there are {len(options)} options, from 0 {show(answer)}.")
        said = f"({marks[answer]}) {options[answer]}"
    else:
        said = f"({marks[options.index(answer)]}) {answer}" if answer in options else str(answer)
    return asked, said if processor.prefix is None else f"{processor.prefix} {said}"


def build_chat_prompt(record: Record, settings: Processor, rng: Random) -> Wording:
    """Word the last turn of a record alone, for models with turns of their own.

    Args:
        record: The question; its instruction goes first.
        settings: Marks, method and the response's beginning; where no mark is chosen, the record's own or `upper`.
        rng: Draws the marks.

    Returns:
        The images of the last turn and the text.

    Raises:
        RowError: The options have a gap, or there are more than marks.
    """
    if None in record.options:
        raise RowError("options.gap", "options", "ReForm-Eval marks options without a gap. Leave the row out.")
    options = record.options if record.options and settings.method == "generation" else None
    marks = settings.choose_labels(rng)
    asked = build_question_with_options(record.question or "", options, marks)
    slots = tuple(image.slot for image in list_last_turn_images(record))
    prompt = put_images_first(f"{record.instruction} {asked}" if record.instruction else asked, slots)
    return replace(prompt, reply=settings.prefix, names=marks[: len(options or ())])


def format_conversation(sample: Mapping[str, Any], processor: Processor, rng: Random) -> str:
    r"""Write a sample as a dialogue, up to where the model answers.

    Args:
        sample: `question`, `answer_options`, `instruct` and `history` (turns with `from` human or
            assistant, and `value`), each of which may be missing.
        processor: The settings.
        rng: Draws the marks of the options.

    Returns:
        The text.

    Raises:
        UsageError: Style or mark is unknown, or the style needs `sep2`.
        RowError: More options than marks, or a turn of neither human nor assistant.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 utils/preprocessors.py:ConvSingleChoiceProcessor.

    Example:
        >>> processor = Processor("\n", style="one", mark="upper", response_prefix="The answer is")
        >>> format_conversation({"question": "Red?", "answer_options": ["yes", "no"]}, processor, Random(0))
        'User: Red? Options: (A) yes; (B) no.\nBot: The answer is'
    """
    if processor.style not in STYLES:
        hint = suggest_spelling(processor.style, STYLES)
        raise UsageError(f"no style is called {processor.style!r}.{hint} Known: {', '.join(STYLES)}.")
    instruct = sample.get("instruct")
    if processor.style == "llama_adapter2":
        before = "" if instruct is None else f"Instruction:\n{instruct}{processor.sep}"
        return _build_system(processor) + before + _format_adapter(_build_turns(sample, "", processor, rng), processor)
    turns = _build_turns(sample, "" if instruct is None else f"{instruct} ", processor, rng)
    return STYLES[processor.style](turns, processor)


def format_mmgpt(sample: Mapping[str, Any], processor: Processor, rng: Random) -> str:
    """Write a dialogue as MultiModal-GPT reads it: its own system text, the image as a turn.

    Args and errors as for `format_conversation`; the styles are `one` and `two`.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 utils/preprocessors.py:MMGPTSingleChoiceProcessor. Roles go by
    position, whatever the opening calls them.
    """
    ends = {"one": (processor.sep, processor.sep), "two": (processor.sep, processor.sep2)}
    if processor.style not in ends:
        raise UsageError(f"mmGPT has no style {processor.style!r}. Known: {', '.join(ends)}.")
    instruct = sample.get("instruct")
    turns = _build_turns(sample, "" if instruct is None else f"{instruct} ", processor, rng)
    end = ends[processor.style]
    text = f"{MMGPT_SYSTEM}{processor.sep}" + _end_line("Image:\n<image>", end[1])
    for number, (_, message) in enumerate(turns):
        line = f"{processor.roles[number % 2]}:\n"
        text += _end_line(line + message, end[number % 2]) if message else line + (processor.prefix or "")
    return text


def format_question_answer(sample: Mapping[str, Any], processor: Processor, rng: Random) -> str:
    """Write a sample as BLIP-2 and its kin read it: `Question: ... Answer:`.

    Args and errors as for `format_conversation`; style and beginning of the response are not used.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 utils/preprocessors.py:SingleChoiceProcessor. A sample without
    a question loses the word before it as well.
    """
    options = None if processor.method == "likelihood" else sample.get("answer_options")
    question = f"{processor.roles[0]}: {sample['question']}" if sample.get("question") is not None else ""
    if options is not None:
        question = build_question_with_options(question, options, processor.choose_labels(rng))
    before = "" if sample.get("instruct") is None else f"{sample['instruct']}\n"
    return f"{before}{_build_history(sample, processor)}{question}{processor.sep}{processor.roles[1]}:"


def format_plain(sample: Mapping[str, Any], processor: Processor) -> str:
    """Write a sample without its options.

    Args and errors as for `format_conversation`; only separators and roles are used.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 utils/preprocessors.py:BaseProcessor.
    """
    if sample.get("question") is None:
        raise RowError("question.missing", "question", "the sample has no question.")
    user, assistant = processor.roles
    before = "" if sample.get("instruct") is None else f"{sample['instruct']} "
    return f"{before}{_build_history(sample, processor)}{user}: {sample['question']}{processor.sep}{assistant}:"


def _build_history(sample: Mapping[str, Any], processor: Processor) -> str:
    ends = (processor.sep, processor.sep2)
    said = [f"{_choose_role(turn, processor)}: {turn['value']}" for turn in sample.get("history") or ()]
    return "".join(_end_line(line, ends[number % 2]) for number, line in enumerate(said))


def _choose_role(turn: Mapping[str, Any], processor: Processor) -> str:
    roles = dict(zip(("human", "assistant"), processor.roles, strict=True))
    if turn["from"] not in roles:
        raise RowError("history.type", "history", f"expected a turn of human or assistant {show(turn['from'])}.")
    return roles[turn["from"]]


def _build_turns(sample: Mapping[str, Any], instruct: str, processor: Processor, rng: Random) -> Turns:
    """Lay out opening, history, question and the place of the answer; the instruction leads the first turn."""
    question = sample.get("question")
    question = "" if question is None else question
    options = None if processor.method == "likelihood" else sample.get("answer_options")
    if options is not None:
        question = build_question_with_options(question, options, processor.choose_labels(rng))
    user, assistant = processor.roles
    turns = [(user, question), (assistant, "")]
    if history := sample.get("history"):
        said = [(_choose_role(turn, processor), turn["value"]) for turn in history[1:]]
        turns = [(user, history[0]["value"]), *said, *turns]
    turns[0] = (user, processor.first_query(instruct + turns[0][1]))
    return [*processor.opening, *turns]


def _end_line(line: str, sep: str | None) -> str:
    if sep is None:
        raise UsageError("the style needs a second separator for the assistant's turns. Give sep2.")
    return line + sep


def _build_system(processor: Processor) -> str:
    return "" if processor.system is None else processor.system + processor.sep


def _build_response_slot(line: str, processor: Processor, gap: str = " ") -> str:
    return line if processor.prefix is None else f"{line}{gap}{processor.prefix}"


def _format_lines(turns: Turns, processor: Processor, ends: tuple[str, str | None]) -> str:
    return "".join(
        _end_line(f"{role}: {message}", ends[number % 2]) if message else _build_response_slot(f"{role}:", processor)
        for number, (role, message) in enumerate(turns)
    )


def _format_one(turns: Turns, processor: Processor) -> str:
    return _build_system(processor) + _format_lines(turns, processor, (processor.sep, processor.sep))


def _format_two(turns: Turns, processor: Processor) -> str:
    return _build_system(processor) + _format_lines(turns, processor, (processor.sep, processor.sep2))


def _format_llama_2(turns: Turns, processor: Processor) -> str:
    text = ""
    for number, (_, message) in enumerate(turns):
        if not message:
            text += processor.prefix or ""
        elif number % 2:
            text += _end_line(f" {message} ", processor.sep2)
        else:
            system = f"<<SYS>>\n{processor.system}\n<</SYS>>\n\n" if number == 0 else ""
            text += f"{processor.sep}[INST] {system}{message} [/INST]"
    # A set of characters, not a prefix: the framework's own way to drop the first separator.
    return text.lstrip(processor.sep)


def _format_otter(turns: Turns, processor: Processor) -> str:
    text = processor.system or ""
    for number, (role, message) in enumerate(turns):
        if not message:
            text += _build_response_slot(f"{role}:<answer>", processor)
        elif number % 2:
            text += _end_line(f"{role}:<answer> {message}", processor.sep2)
        else:
            text += f"{role}: {message}{processor.sep}"
    return text


def _format_adapter(turns: Turns, processor: Processor) -> str:
    return "".join(
        f"{role}:\n{message}{processor.sep}" if message else _build_response_slot(f"{role}:", processor, "\n")
        for role, message in turns
    )


def _format_visualglm(turns: Turns, processor: Processor) -> str:
    text = _build_system(processor)
    for number, (role, message) in enumerate(turns):
        if not message:
            text += f"{role}：{processor.prefix or ''}"
        else:
            text += "" if number % 2 else f"[Round {number // 2 + 1}]\n"
            text += f"{role}：{message}{processor.sep}"
    return text


STYLES: dict[str, Callable[[Turns, Processor], str]] = {
    "two": _format_two,
    "one": _format_one,
    "llama_2": _format_llama_2,
    "otter": _format_otter,
    "llama_adapter2": _format_adapter,
    "visualglm": _format_visualglm,
}
