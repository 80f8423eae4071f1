"""The answer in a plain row: a text, or an option's letter, text or place."""

from collections.abc import Sequence
from typing import Any

from mmconvert.chat.conversations import as_list
from mmconvert.core.errors import RowError, in_field, show
from mmconvert.core.record import LETTERS
from mmconvert.core.text.literals import looks_like_list, parse_list
from mmconvert.core.text.options import find_answer_letter, list_letters

PLACES = {"answer_index": 0, "answer_number": 1}
"""Field of an option's place -> what the first option is."""

_BOOLEANS = {True: ("true", "yes"), False: ("false", "no")}


def read_answers(value: Any, column: str, options: Sequence[str | None], for_scoring: bool) -> tuple[str, ...]:
    """Read the answers of a row; those to options as letters.

    Args:
        value: What the column holds: one, or a list, which may be a text.
        column: Where it stands.
        options: The row's options, () for an open question.
        for_scoring: Keep what names no option, unless it is a number.

    Raises:
        RowError: `answer.not_an_option`, or `<column>.type`.
    """
    if isinstance(value, str) and looks_like_list(value) and not options:
        with in_field(column):
            value = parse_list(value)
    items = [_unwrap(item) for item in as_list(value) if item not in (None, "")]
    if not options:
        return tuple(_read_open(item, column) for item in items)
    return tuple(_read_choice(item, column, options, for_scoring) for item in items)


def _unwrap(item: Any) -> Any:
    """Give the text of an answer that says more of itself, as one of VQA's ten does."""
    text = item.get("answer") if isinstance(item, dict) else None
    return text if isinstance(text, str) else item


def read_place(value: Any, column: str, first: int, options: Sequence[str | None]) -> tuple[str, ...]:
    """Read an answer that is given by the place of its option.

    Args:
        value: A whole number, or its text; None and "" for no answer.
        column: Where it stands.
        first: The place of the first option.
        options: The row's options.

    Raises:
        RowError: `answer.not_an_option`: the value is no number, or no option stands there.

    Example:
        >>> read_place("1", "label", 0, ("cat", "dog")), read_place(1, "label", 1, ("cat", "dog"))
        (('B',), ('A',))
    """
    if value is None or value == "":
        return ()
    number = _read_number(value)
    letter = None if number is None else _name_place(number - first, options)
    if letter is None:
        last = len(options) - 1 + first
        expected = f"expected the place of an option, {first} to {last} {show(value)}." if options else "no options."
        raise RowError("answer.not_an_option", column, expected)
    return (letter,)


def is_unclear_place(value: Any, options: Sequence[str | None]) -> bool:
    """Tell whether an answer to options is a number that is no option's text, and may count from 0 or from 1.

    Example:
        >>> [is_unclear_place(value, ("3", "4")) for value in (1, "1", 3, "A", True)]
        [True, True, False, False, False]
    """
    number = _read_number(value)
    return number is not None and find_answer_letter(str(value), options) is None


def describe_unclear_place(column: str) -> str:
    """Say what to type where an option's place may count from 0 or from 1."""
    return (
        f"the place of an option in {column!r}, which may count from 0 or from 1; count from 0 with "
        f"--map answer_index={column}, from 1 with --map answer_number={column}"
    )


def build_unclear_place_error(value: Any, column: str) -> RowError:
    """Make the error for an answer that is a number and no option's text."""
    message = f"expected a letter, not {describe_unclear_place(column)} {show(value)}."
    return RowError("answer.not_an_option", column, message)


def _read_number(value: Any) -> int | None:
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdecimal() and len(value.strip()) < 4:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _name_place(place: int, options: Sequence[str | None]) -> str | None:
    return LETTERS[place] if 0 <= place < len(options) and options[place] is not None else None


def _read_open(value: Any, column: str) -> str:
    if isinstance(value, bool):
        words = " or ".join(f'"{word}"' for word in _BOOLEANS[value])
        raise RowError("answer.type", column, f"expected a text {show(value)}. Write it as responses do: {words}.")
    if not isinstance(value, str | int | float):
        raise RowError("answer.type", column, f"expected a text {show(value)}.")
    return str(value)


def _read_choice(value: Any, column: str, options: Sequence[str | None], for_scoring: bool) -> str:
    """Give the letter that an answer names; a boolean names the option that is written as true or yes, false or no."""
    if isinstance(value, bool):
        said = [o for o in options if o is not None and o.strip().lower() in _BOOLEANS[value]]
        letter = find_answer_letter(said[0], options) if len(said) == 1 else None
    else:
        letter = find_answer_letter(_read_open(value, column), options)
    if letter is not None:
        return letter
    if is_unclear_place(value, options):
        raise build_unclear_place_error(value, column)
    if for_scoring and not isinstance(value, bool):
        return str(value)
    expected = f"expected one of {', '.join(list_letters(options))}, or the text of one option {show(value)}."
    raise RowError("answer.not_an_option", column, expected)
