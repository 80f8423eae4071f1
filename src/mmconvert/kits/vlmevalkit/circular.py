"""Copies of a multiple-choice question with its options rotated, as VLMEvalKit's tool makes them."""

import re
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from mmconvert.core.errors import RowError, show

FIRST_OFFSET = 1_000_000
"""Distance of the copies' indices; ten times larger while an index reaches it."""

NO_LETTER = re.compile(r"[^A-Za-z\s]")
WHOLE_NUMBER = re.compile(r"-?[0-9]+")


def build_circular_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Lay out a table in which every option of a question stands once under every letter.

    A question that cannot be rotated is kept once: no options, an answer that is not one of its
    letters, an option that is itself letters (`A`, `AB`) or names two of the letters.

    Args:
        rows: Raw rows of texts with `index`, `answer` and one column a letter, A first and without a
            gap; None is a missing cell.

    Returns:
        Rows with `g_index` (index of the unrotated row) as last column. Questions of one number of
        options stand together, in the order in which such a question first appears, and pass by
        pass; the ones kept once form one group as well. A copy's `image` names the unrotated row.

    Raises:
        RowError: An index is no whole number, an option or its column is missing before another, or
            a question has a single option.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/tools.py:CIRCULAR.

    Example:
        >>> rows = build_circular_rows([{"index": "7", "A": "cat", "B": "dog", "answer": "A"}])
        >>> [(row["index"], row["A"], row["B"], row["answer"], row["g_index"]) for row in rows]
        [(7, 'cat', 'dog', 'A', 7), (1000007, 'dog', 'cat', 'B', 7)]
    """
    for row in rows:
        _check_columns([letter for letter in ascii_uppercase if letter in row])
    offset = FIRST_OFFSET
    while any(_read_index(row) >= offset for row in rows):
        offset *= 10
    groups: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        options = present_options(row)
        size = len(options) if can_rotate(options, row.get("answer")) else 0
        groups.setdefault(size, []).append(row)
    return [_copy(r, size, t, offset) for size, members in groups.items() for t in range(max(size, 1)) for r in members]


def present_options(row: Mapping[str, Any]) -> dict[str, str]:
    """List a raw row's options by letter, as texts.

    Raises:
        RowError: An option is missing before a present one, or there is only one.

    Example:
        >>> present_options({"A": "cat", "B": 2, "C": None})
        {'A': 'cat', 'B': '2'}
    """
    options = {letter: str(row[letter]) for letter in ascii_uppercase if row.get(letter) is not None}
    letters = ascii_uppercase[: len(options)]
    if "".join(options) != letters:
        gap = next(letter for letter in letters if letter not in options)
        raise RowError(
            "option.gap", gap, f"the option is missing before others {show(options)}. Fill it, or move them up."
        )
    if len(options) == 1:
        raise RowError(
            "option.single", "A", f"a single option cannot be rotated {show(options)}. Give the row another."
        )
    return options


def can_rotate(options: Mapping[str, str], answer: object) -> bool:
    """Tell whether a question means the same with its options under other letters.

    Args:
        options: Option texts by letter.
        answer: The answer cell.

    Returns:
        False for no options, an answer that is not one of the letters, an option that consists of
        consecutive letters of the alphabet, and an option whose words name two of the letters.

    Example:
        >>> can_rotate({"A": "cat", "B": "dog"}, "A"), can_rotate({"A": "cat", "B": "A or B"}, "A")
        (True, False)
    """
    if str(answer) not in options:
        return False
    return not any(
        text in ascii_uppercase or len(options.keys() & NO_LETTER.sub(" ", text).split()) > 1
        for text in options.values()
    )


def _check_columns(letters: Sequence[str]) -> None:
    missing = [letter for letter, wanted in zip(letters, ascii_uppercase, strict=False) if letter != wanted]
    if missing:
        raise RowError("option.gap", missing[0], f"a column of options is missing before it {show(letters)}. Add it.")


def _read_index(row: Mapping[str, Any]) -> int:
    index = row.get("index")
    if index is None or not WHOLE_NUMBER.fullmatch(index):
        raise RowError("index.type", "index", f"expected a whole number {show(index)}. Number the rows.")
    return int(index)


def _copy(row: Mapping[str, Any], size: int, turn: int, offset: int) -> dict[str, Any]:
    index, letters = _read_index(row), ascii_uppercase[:size]
    copy = {name: value for name, value in row.items() if name != "g_index"} | {"index": index + turn * offset}
    if turn:
        copy |= {letter: row[letters[(place + turn) % size]] for place, letter in enumerate(letters)}
        copy["answer"] = letters[(letters.index(row["answer"]) - turn) % size]
        copy |= {"image": row["index"]} if "image" in row else {}
    return copy | {"g_index": index}
