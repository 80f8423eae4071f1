r"""Read a choice as ReForm-Eval does: the first mark in round brackets."""

import re
from collections.abc import Mapping
from string import ascii_lowercase, ascii_uppercase

from mmconvert.core.errors import Error, suggest_spelling
from mmscore.core.parsed import UNPARSED, Parsed

# Source: FudanDISC/ReForm-Eval@df1cfa7 metrics/singlechoice.py
MARKS: Mapping[str, re.Pattern[str]] = {
    "all": re.compile(r"\(([1-9A-Za-z])\)"),
    "upper": re.compile(r"\(([A-Z])\)"),
    "lower": re.compile(r"\(([a-z])\)"),
    "number": re.compile(r"\(([1-9])\)"),
}
PLACES = {mark: place for marks in (ascii_uppercase, ascii_lowercase, "123456789") for place, mark in enumerate(marks)}


def reform_choice(text: str, marks: str = "all") -> Parsed:
    """Find the first mark in brackets, whatever marks the options were shown with.

    Args:
        text: The model's response.
        marks: Marks to look for: `all`, `upper`, `lower` or `number`.

    Returns:
        The option's letter: `A` for `(A)`, `(a)` and `(1)`, also where there is no such option.

    Raises:
        Error: There are no such marks.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 metrics/singlechoice.py:SingleChoiceMetric, without options.

    Example:
        >>> reform_choice("The answer is (2) no (1)").value, reform_choice("A) yes").how
        ('B', 'unparsed')
    """
    if marks not in MARKS:
        raise Error(f"no marks {marks!r}.{suggest_spelling(marks, MARKS)} Known: {', '.join(MARKS)}.")
    found = MARKS[marks].search(text)
    return Parsed(ascii_uppercase[PLACES[found[1]]], "bracketed mark", found.span(1)) if found else UNPARSED


PARSER = reform_choice
