"""MMBench's own prompt template: hint, question, then the options, one a line; the image first."""

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from mmconvert.core.errors import RowError, show, suggest_spelling
from mmconvert.core.record import LETTERS, Record
from mmconvert.core.text.prompt_parts import Wording, put_images_first
from mmconvert.core.text.turns import list_last_turn_images

# Source: open-compass/MMBench@20faed3 README, section on loading the data (the pipeline's document)
SYS_PROMPT = "There are several options:"
OPTION_LETTERS = "ABCDE"
REQUIRED = ("index", "image", "question", "category", "l2-category")


class MmbenchQuestion(msgspec.Struct, frozen=True):
    """A row of the table as the benchmark's loader gives it; cells keep the type that they were read with.

    Attributes:
        index: The row's number.
        question: The question; NaN where the cell is empty.
        answer: The letter, NaN where the cell is empty, None where the table has no such column.
        category: Leaf category.
        l2_category: Its parent.
        context: The hint, None where there is none.
        options: Options by letter, empty cells left out.
    """

    index: Any
    question: Any
    answer: Any
    category: Any
    l2_category: Any
    context: Any
    options: Mapping[str, Any]


def mmbench(record: Record, sys_prompt: str = SYS_PROMPT) -> Wording:
    """Word a question as MMBench's loader does.

    Args:
        record: A multiple-choice question; a gap between the options stays a gap.
        sys_prompt: The line before the options.

    Returns:
        The images and the text.

    Parity: open-compass/MMBench@20faed3 README.
    """
    options = {letter: text for letter, text in zip(LETTERS, record.options, strict=False) if text is not None}
    slots = tuple(image.slot for image in list_last_turn_images(record))
    return put_images_first(build_mmbench_text(record.question or "", options, record.hint, sys_prompt), slots)


def build_mmbench_text(
    question: Any, options: Mapping[str, Any], hint: Any = None, sys_prompt: str = SYS_PROMPT
) -> str:
    r"""Write the prompt text.

    Args:
        question: The question.
        options: Options by letter.
        hint: The hint; None for none.
        sys_prompt: The line before the options.

    Returns:
        The text, with a line break behind the last option.

    Raises:
        RowError: Question or hint is not a text (an empty cell, a column of numbers).

    Example:
        >>> build_mmbench_text("Which?", {"A": "cat", "C": "dog"}, "Look.")
        'Look. Which? There are several options:\nA. cat\nC. dog\n'
    """
    return build_question_text(question, build_options_text(options, sys_prompt), hint)


def build_question_text(question: Any, options: str, hint: Any = None) -> str:
    r"""Put hint, question and the list of options together; the arguments are those of `build_mmbench_text`.

    Raises:
        RowError: As `build_mmbench_text`.

    Example:
        >>> build_question_text("Which?", "There are several options:\nA. cat\n")
        'Which? There are several options:\nA. cat\n'
    """
    for name, value in (("question", question), ("hint", hint)):
        if not isinstance(value, str) and not (name == "hint" and value is None):
            raise RowError("text.type", name, f"expected a text {show(value)}. Read the column as text, or fill it.")
    before = "" if hint is None else f"{hint} "
    return f"{before}{question} {options}"


def build_options_text(options: Mapping[str, Any], sys_prompt: str = SYS_PROMPT) -> str:
    r"""List options, one a line, behind a first line.

    Example:
        >>> build_options_text({"A": "cat"})
        'There are several options:\nA. cat\n'
    """
    return f"{sys_prompt}\n" + "".join(f"{letter}. {option}\n" for letter, option in options.items())


def read_question(row: Mapping[str, Any]) -> MmbenchQuestion:
    """Read a row of the table as the benchmark's loader does.

    Args:
        row: Cells by column, with the types of `pandas_tables.read_cells`, None for missing.

    Returns:
        The question.

    Raises:
        RowError: A required column is missing; names are compared letter by letter.

    Parity: open-compass/MMBench@20faed3 README.

    Example:
        >>> row = {"index": 1, "image": "", "question": "Which?", "A": "cat", "category": "c", "l2-category": "l"}
        >>> read_question(row).options
        {'A': 'cat'}
    """
    for name in REQUIRED:
        if name not in row:
            message = f"the table has no such column.{suggest_spelling(name, row)} Add it."
            raise RowError("column.missing", name, message)
    return MmbenchQuestion(
        index=_read_cell(row, "index"),
        question=_read_cell(row, "question"),
        answer=_read_cell(row, "answer") if "answer" in row else None,
        category=_read_cell(row, "category"),
        l2_category=_read_cell(row, "l2-category"),
        context=row.get("hint"),
        options={letter: row[letter] for letter in OPTION_LETTERS if row.get(letter) is not None},
    )


def _read_cell(row: Mapping[str, Any], name: str) -> Any:
    return math.nan if row[name] is None else row[name]


PROMPT = mmbench
