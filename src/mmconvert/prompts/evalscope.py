"""EvalScope's prompt template: the multiple-choice instruction, the question, options as `A) text`.

Questions without options go to the model as they are: the framework's General-VQA adds no text.
"""

import ast
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec

from mmconvert.core.errors import RowError, UsageError, show, suggest_spelling
from mmconvert.core.record import Part, Record
from mmconvert.core.text.placeholders import interleave, list_slots
from mmconvert.core.text.prompt_parts import Wording
from mmconvert.core.text.turns import build_plain_prompt_parts, find_last_user_turn, list_last_turn_images
from mmconvert.kits.evalscope.media import Row, split_parts
from mmconvert.kits.evalscope.messages import Message, add_system_message, check_reference, read_json
from mmconvert.kits.evalscope.release import LATEST, Release
from mmconvert.kits.evalscope.shuffle import build_label

# Source: modelscope/evalscope 1.14.1 evalscope/utils/multi_choices.py, the templates a model reads
_ONE = "Answer the following multiple choice question."
_SEVERAL = "Answer the following multiple choice question where multiple answers may be correct."
_WHOLE = "The entire content of your response should be of the following format:"
_LAST = "The last line of your response should be of the following format:"
_LETTER = "'ANSWER: [LETTER]' (without quotes) where [LETTER] is one of {letters}."
_LETTERS = "'ANSWER: [LETTERS]' (without quotes) where [LETTERS] is one or more of {letters}."
_STEPS = "Think step by step before answering."
_TAIL = "\n\n{question}\n\n{choices}"
_ZH = "回答下面的单项选择题，请选出其中的正确答案。你的回答的"
_ZH_LETTER = '应该是这样的格式："答案：[LETTER]"（不带引号），其中 [LETTER] 是 {letters} 中的一个。'
_ZH_SEVERAL = "回答下面的多项选择题，请选出其中的所有正确答案。你的回答的"
_ZH_LETTERS = '应该是这样的格式："答案：[LETTERS]"（不带引号），其中 [LETTERS] 是 {letters} 中的一个或多个。'
_ZH_STEPS = "请在回答前进行一步步思考。"
_ZH_TAIL = "\n\n问题：{question}\n选项：\n{choices}\n"
TEMPLATES = {
    "single": f"{_ONE} {_WHOLE} {_LETTER}{_TAIL}",
    "single_cot": f"{_ONE} {_LAST} {_LETTER} {_STEPS}{_TAIL}",
    "multiple": f"{_SEVERAL} {_WHOLE} {_LETTERS}{_TAIL}",
    "multiple_cot": f"{_SEVERAL} {_LAST} {_LETTERS} {_STEPS}{_TAIL}",
    "chinese_single": f"{_ZH}全部内容{_ZH_LETTER}{_ZH_TAIL}",
    "chinese_single_cot": f"{_ZH}最后一行{_ZH_LETTER}{_ZH_STEPS}{_ZH_TAIL}",
    # One line break, not two: the framework's own.
    "chinese_multiple": f"{_ZH_SEVERAL}全部内容{_ZH_LETTERS}{_ZH_TAIL[1:]}",
    "chinese_multiple_cot": f"{_ZH_SEVERAL}最后一行{_ZH_LETTERS}{_ZH_STEPS}{_ZH_TAIL}",
}
"""The framework's templates by name; `single_cot` is its default."""

DEFAULT = "single_cot"
MAX_OPTIONS_TEXT = 1_000_000
"""Most characters of an options cell; the framework has no limit."""


class VmcqRow(msgspec.Struct, frozen=True):
    """A row of General-VMCQ as the framework reads it: messages, options, and a label or a list of labels."""

    messages: list[Message]
    choices: list[str]
    target: str | list[str]


def evalscope(record: Record, template: str = DEFAULT) -> Wording:
    """Word a question as EvalScope does.

    Args:
        record: A question; options without a text are left out and the others close up, a hint goes first.
        template: Name of one of the framework's templates, or a text with `{question}`, `{choices}` and `{letters}`.

    Returns:
        Text and images where placeholders of question and options show them. Images of the record
        that no placeholder names go first; the framework itself would leave them out.

    Raises:
        UsageError: The template is neither known nor usable.
        RowError: A placeholder names an image that the record does not have.

    Parity: modelscope/evalscope 1.3.0 to 1.14.1 evalscope/benchmarks/general_vmcq.
    """
    shown_now, options = list_last_turn_images(record), [option for option in record.options if option is not None]
    if not options:
        place = find_last_user_turn(record)
        if place is None:
            return build_plain_prompt_parts(record)
        return Wording(record.messages[place].content, tuple(image.slot for image in shown_now))
    question = "\n".join(text for text in (record.hint, record.question) if text)
    text = build_choice_text(question, options, template)
    images = {image.slot: image for image in (*record.attachments, *shown_now)}
    named = set(list_slots(text))
    before = tuple(image.slot for image in shown_now if image.slot not in named)
    parts, shown = interleave(text, images, "question")
    return Wording(
        (*(Part("image") for _ in before), *(part for part in parts if part.type == "image" or part.text.strip())),
        (*before, *(image.slot for image in shown)),
        names="".join(build_label(position) for position in range(len(options))),
    )


def build_choice_text(question: Any, options: Sequence[str], template: str = DEFAULT) -> str:
    r"""Write the prompt text.

    Args:
        question: The question, put in as Python prints it.
        options: Options in order.
        template: As for `evalscope`.

    Returns:
        The text; braces in question and options stay.

    Raises:
        UsageError: The template is neither known nor usable.

    Example:
        >>> build_choice_text("Which?", ["cat", "dog"], "{question}\n{choices}\nOne of {letters}.")
        'Which?\nA) cat\nB) dog\nOne of A,B.'
    """
    labels = [build_label(position) for position in range(len(options))]
    listed = "\n".join(f"{label}) {option}" for label, option in zip(labels, options, strict=True))
    if template not in TEMPLATES and "{" not in template:
        hint = suggest_spelling(template, TEMPLATES)
        raise UsageError(f"evalscope has no template {template!r}.{hint} Known: {', '.join(TEMPLATES)}, or a text.")
    try:
        return TEMPLATES.get(template, template).format(question=question, choices=listed, letters=",".join(labels))
    except (KeyError, IndexError, AttributeError, ValueError) as error:
        message = f"the template cannot be filled in: {error!r}. Use {{question}}, {{choices}}, {{letters}}."
        raise UsageError(message) from None


def read_choice_sample(
    row: Row, release: Release = LATEST, template: str = DEFAULT, system_prompt: str | None = None
) -> VmcqRow:
    """Read a row of General-VMCQ.

    Args:
        row: The raw row: `question`, `options`, `answer` and the media columns.
        release: Whose behaviour is wanted.
        template: As for `evalscope`.
        system_prompt: Put first, None for none.

    Returns:
        The messages, the options and the reference.

    Raises:
        RowError: The framework refuses the row.

    Parity: modelscope/evalscope 1.3.0, 1.10.0, 1.14.1 evalscope/benchmarks/general_vmcq:record_to_sample.

    Example:
        >>> read_choice_sample({"question": "Which?", "options": "['cat', 'dog']", "answer": "A"}).choices
        ['cat', 'dog']
    """
    for name in ("question", "answer"):
        if name not in row:
            raise RowError("field.missing", name, "the row has no such field.")
    choices = read_options(row.get("options"))
    text = build_choice_text(row["question"], choices, template)
    message = {"role": "user", "content": split_parts(text, row, release)}
    return VmcqRow(add_system_message([message], system_prompt), choices, check_reference(row["answer"]))


def read_options(value: Any) -> list[str]:
    """Read the options of a raw row as loosely as the framework does.

    Args:
        value: A list; or a text with a JSON list, else with a Python literal whose elements count: the
            characters of a text, the keys of a dict. Neighbouring texts without a comma are one.

    Returns:
        The options as Python prints them (`None` for null).

    Raises:
        RowError: `options.type`.

    Parity: modelscope/evalscope 1.3.0 to 1.14.1 evalscope/benchmarks/general_vmcq.

    Example:
        >>> read_options('{"a": 1, "b": 2}'), read_options([1, None]), read_options("['a' 'b']")
        (['a', 'b'], ['1', 'None'], ['ab'])
    """
    if isinstance(value, list):
        return [str(option) for option in value]
    if not isinstance(value, str) or len(value) > MAX_OPTIONS_TEXT:
        raise RowError("options.type", "options", f"expected a list, or a list as text {show(value)}.")
    read: Any = None
    with suppress(RowError):
        read = read_json(value, "options")
    if not isinstance(read, list):
        read = _parse_literal(value)
    return [str(option) for option in read]


def _parse_literal(text: str) -> Any:
    # Reads a value and runs nothing. The project's own reader knows lists only, the framework takes any literal.
    try:
        with warnings.catch_warnings(action="ignore"):
            return iter(ast.literal_eval(text))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise RowError("options.type", "options", f"expected a list, or a list as text {show(text)}.") from None


PROMPT = evalscope
