"""Options as people write them: a list, objects of letters and texts, or one text with a letter before each."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mmconvert.core.errors import RowError, show
from mmconvert.core.record import LETTERS
from mmconvert.core.text.literals import looks_like_list
from mmconvert.core.text.options import read_option_texts, split_letter_mark

_LETTER_KEYS = ("label", "labels", "key", "letter", "id")
_TEXT_KEYS = ("text", "texts", "value", "content", "option")
_OPTION = re.compile(r"(?P<word>option|choice|opt)_?(?P<end>[a-z]|\d{1,2})", re.ASCII)
_PLACES = ([*LETTERS.lower()], *([str(first + at) for at in range(len(LETTERS))] for first in (0, 1)))
"""What options may be numbered with."""
_SEPARATORS = re.compile(r"\s*[\n;|]\s*")


def find_option_columns(names: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Find columns of an option each: `option_a`, `Option B`, `choiceC`, or `option_1`, `option_2`, ...

    Args:
        names: Name of each column in small letters, words parted by `_` -> the name as it is.

    Returns:
        Letter -> its column, A, B, ... without a gap; {} where there are fewer than two.

    Example:
        >>> find_option_columns({"option_a": "Option A", "option_b": "Option B", "option_d": "Option D"})
        {'A': ('Option A',), 'B': ('Option B',)}
        >>> find_option_columns({"choice1": "choice1", "choice2": "choice2"}), find_option_columns({"option_a": "x"})
        ({'A': ('choice1',), 'B': ('choice2',)}, {})
    """
    ends = {(match["word"], match["end"]): names[name] for name in names if (match := _OPTION.fullmatch(name))}
    for word in dict.fromkeys(word for word, _ in ends):
        for places in _PLACES:
            # Columns count up to the first gap.
            count = next((at for at, place in enumerate(places) if (word, place) not in ends), len(places))
            if count > 1:
                return {LETTERS[at]: (ends[word, places[at]],) for at in range(count)}
    return {}


def is_option_column(name: str) -> bool:
    """Tell whether a column may be one of an option, by its name in small letters."""
    return _OPTION.fullmatch(name) is not None


def read_plain_options(value: Any) -> tuple[str, ...]:
    """Read the options of a row.

    Args:
        value: A list (or one as text); an object with a text for each letter; a list of objects of a letter and a
            text, or one object of both lists; or a text with `A. one; B. two`, also in lines. A letter in front of
            every option is taken off, for the prompt writes it.

    Raises:
        RowError: `options.type`, `options.count`, or the codes of `parse_list`.

    Example:
        >>> read_plain_options("A. cat; B. dog"), read_plain_options({"text": ["cat", "dog"], "label": ["A", "B"]})
        (('cat', 'dog'), ('cat', 'dog'))
        >>> read_plain_options([{"label": "A", "text": "cat"}, {"label": "B", "text": "dog"}])
        ('cat', 'dog')
        >>> read_plain_options(["A cat", "B dog"])
        ('A cat', 'B dog')
    """
    if isinstance(value, str) and not looks_like_list(value):
        lines = [line for line in _SEPARATORS.split(value.strip()) if line]
        value = lines if len(lines) > 1 and _list_unmarked(lines) is not None else value
    elif isinstance(value, dict):
        value = _read_object(value)
    elif isinstance(value, list) and value and all(isinstance(option, dict) for option in value):
        value = _read_pairs([_find(option, _LETTER_KEYS) for option in value], [_find(o, _TEXT_KEYS) for o in value])
    texts = read_option_texts(value)
    return _list_unmarked(texts) or texts


def _find(option: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((option[key] for key in keys if key in option), None)


def _read_object(value: Mapping[str, Any]) -> Any:
    if [*value] == [*LETTERS[: len(value)]]:
        return [*value.values()]
    letters, texts = _find(value, _LETTER_KEYS), _find(value, _TEXT_KEYS)
    if not isinstance(texts, list) or not (letters is None or isinstance(letters, list)):
        return value
    return _read_pairs(letters or [None] * len(texts), texts)


def _read_pairs(letters: Sequence[Any], texts: Sequence[Any]) -> list[Any]:
    """Give the texts of options whose letters are A, B, C, ..., or who have none.

    Raises:
        RowError: `options.type`.
    """
    if any(letter is not None for letter in letters) and [*letters] != [*LETTERS[: len(texts)]]:
        raise RowError("options.type", "", f"expected options with the letters A, B, C, ... {show([*letters])}.")
    return [*texts]


def _list_unmarked(texts: Sequence[str]) -> tuple[str, ...] | None:
    """Give options without the letters in front, None where not each has its own."""
    marked = [split_letter_mark(text.strip()) for text in texts]
    own = all(rest and letter == known for (letter, rest), known in zip(marked, LETTERS, strict=False))
    return tuple(rest for _, rest in marked) if own and len(texts) <= len(LETTERS) else None
