"""Option lists, their letters, and the plain prompt that several formats share."""

import re
from collections.abc import Container, Iterable, Sequence
from itertools import takewhile
from typing import Any

from msgspec.structs import replace

from mmconvert.core.errors import RowError, show
from mmconvert.core.record import LETTERS, Record
from mmconvert.core.text.literals import parse_list
from mmconvert.core.text.prompt_parts import OPTION_NAMES

INSTRUCTION = "Answer with the option's letter from the given choices directly."
"""Source: MMMU-Benchmark/MMMU@bb0b95a mmmu/configs/llava1.5.yaml, the line most VLMs were tuned on."""

_MARKED = re.compile(
    r"(?:\((?P<round>[A-Za-z])\)|\[(?P<square>[A-Za-z])\]|(?P<plain>[A-Za-z])[.):])[.:]?\s*(?P<rest>.*)", re.DOTALL
)
"""A letter with a bracket, point or colon, and what it stands before."""


def read_option_texts(value: Any, least: int = 2, most: int | None = len(LETTERS)) -> tuple[str, ...]:
    """Read a list of options.

    Args:
        value: A list of texts and numbers, or such a list as JSON or Python literal in a text.
        least: How many there must be.
        most: How many there may be, None for any number: whoever scores a framework's file needs no letter for each.

    Returns:
        The texts; numbers as JSON writes them.

    Raises:
        RowError: `options.type` or `options.count`, or the codes of `parse_list`.

    Example:
        >>> read_option_texts("['a', 2, 3.5]")
        ('a', '2', '3.5')
    """
    if isinstance(value, str):
        value = parse_list(value)
    if not isinstance(value, list):
        raise RowError("options.type", "", f"expected a list of options {show(value)}.")
    texts = []
    for place, option in enumerate(value):
        if isinstance(option, bool) or not isinstance(option, str | int | float):
            raise RowError("options.type", f"[{place}]", f"an option must be a text or a number {show(option)}.")
        texts.append(str(option))
    if not least <= len(texts) <= (len(texts) if most is None else most):
        wanted = f"{least} or more" if most is None else f"{least} to {most}"
        raise RowError("options.count", "", f"expected {wanted} options, found {len(texts)}.")
    return tuple(texts)


def list_letter_columns(names: Container[str]) -> str:
    """List the columns of a table that hold options: A, B, C, ... without a gap, two or more.

    Example:
        >>> list_letter_columns(["id", "A", "B", "C", "E"]), list_letter_columns(["id", "A"])
        ('ABC', '')
    """
    letters = "".join(takewhile(names.__contains__, LETTERS))
    return letters if len(letters) > 1 else ""


def gather_lettered_options(cells: Iterable[str | None]) -> tuple[str | None, ...]:
    """Gather options from the cells of columns A, B, C, ...

    Args:
        cells: One for each of `LETTERS`; None where there is not a text or no column.

    Returns:
        options[i] belongs to letter i; None for a letter without text; trailing Nones cut; () for none.

    Example:
        >>> gather_lettered_options(["one", None, "three", None])
        ('one', None, 'three')
    """
    options = list(cells)
    while options and options[-1] is None:
        options.pop()
    return tuple(options)


def require_several(options: Sequence[str | None], field: str, *, choice: bool = False) -> None:
    """Refuse a question that offers nothing to choose from.

    Args:
        options: Options by letter.
        field: Where they stand.
        choice: Refuse a question without any as well, which else is an open one.

    Raises:
        RowError: `options.count`.

    Example:
        >>> require_several((), "A"), require_several(("one", None, "three"), "A")
        (None, None)
    """
    found = len(options) - options.count(None)
    if found == 1 or (choice and not found):
        raise RowError("options.count", field, f"expected 2 to {len(LETTERS)} options, found {found}.")


def list_letters(options: Sequence[str | None]) -> str:
    """Give the letters that have a text.

    Example:
        >>> list_letters(("one", None, "three"))
        'AC'
    """
    if None not in options:
        return LETTERS[: len(options)]
    return "".join(letter for letter, text in zip(LETTERS, options, strict=False) if text is not None)


def is_option(letter: str | None, options: Sequence[str | None]) -> bool:
    """Tell whether a text is the letter of one option that has a text.

    Example:
        >>> [is_option(text, ("one", None, "three")) for text in ("C", "B", "AC", "", "c", "4", None)]
        [True, False, False, False, False, False, False]
    """
    return letter in tuple(list_letters(options))


def read_answer_letter(text: str, options: Sequence[str | None]) -> str:
    """Check an answer letter; case and white space around it are settled.

    Args:
        text: What the source wrote.
        options: The question's options.

    Returns:
        One letter of an option that has a text.

    Raises:
        RowError: `answer.not_an_option`: anything else; the option's text is not guessed at.

    Example:
        >>> read_answer_letter(" b ", ("one", "two"))
        'B'
    """
    letter = text.strip().upper()
    letters = list_letters(options)
    if len(letter) != 1 or letter not in letters:
        raise RowError("answer.not_an_option", "", f"expected one of {', '.join(letters)} {show(text)}.")
    return letter


def find_answer_letter(text: str, options: Sequence[str | None]) -> str | None:
    """Find the option that an answer names: by its letter, `B`, `(B)`, `B.` or `B) text`, or by its exact text.

    Args:
        text: What the source wrote.
        options: The question's options; their own letters in front of them (`B. text`) may be left out.

    Returns:
        The letter; None where the text names no option, or several.

    Example:
        >>> [find_answer_letter(text, ("cat", "dog")) for text in ("b", "(B)", "B. dog", "dog", "B) cat", "1", "Dog")]
        ['B', 'B', 'B', 'B', None, None, None]
    """
    said = text.strip()
    letters = list_letters(options)
    # Most answers are a letter, and most options end otherwise, which is told at once. An option may end with white
    # space, of which only a blank is printable.
    ends = "".join([option[-1:] for option in options if option])
    plain = ends.isprintable() and " " not in ends and said not in ends
    if plain and len(said) == 1 and said.isascii() and said.upper() in letters:
        return said.upper()
    texts = {letter: _list_spellings(letter, option) for letter, option in zip(LETTERS, options, strict=False)}
    found = {letter for letter in letters if said in texts[letter]}
    letter, rest = (said.upper(), "") if len(said) == 1 else split_letter_mark(said)
    if letter in tuple(letters) and (not rest or rest in texts[letter]):
        found.add(letter)
    return found.pop() if len(found) == 1 else None


def _list_spellings(letter: str, option: str | None) -> tuple[str, ...]:
    if option is None:
        return ()
    mark, rest = split_letter_mark(option.strip())
    return (option.strip(), rest) if mark == letter and rest else (option.strip(),)


def split_letter_mark(text: str) -> tuple[str, str]:
    """Split a letter that is marked as one off what follows it; "" where there is none.

    Example:
        >>> split_letter_mark("(b) dog"), split_letter_mark("A dog")
        (('B', 'dog'), ('', ''))
    """
    found = _MARKED.fullmatch(text)
    if found is None:
        return "", ""
    return (found["round"] or found["square"] or found["plain"]).upper(), found["rest"]


def build_plain_prompt(question: str, hint: str | None, options: Sequence[str | None]) -> str:
    r"""Word a question the plain way: hint, question, lettered options, one instruction.

    Args:
        question: The question, placeholders kept.
        hint: Text that goes first, or None.
        options: Options; () leaves the question as it is.

    Example:
        >>> build_plain_prompt("Which?", None, ("x", None, "z"))
        "Which?\nA. x\nC. z\nAnswer with the option's letter from the given choices directly."
    """
    lines = [*([hint] if hint else []), question]
    if options:
        lines += [f"{letter}. {text}" for letter, text in zip(LETTERS, options, strict=False) if text is not None]
        lines.append(INSTRUCTION)
    return "\n".join(lines)


def remove_option_names(record: Record) -> Record:
    """Take off what is said of the options' names: of a file's own prompt no prompt template has said it."""
    if OPTION_NAMES not in record.extra:
        return record
    return replace(record, extra={name: value for name, value in record.extra.items() if name != OPTION_NAMES})
