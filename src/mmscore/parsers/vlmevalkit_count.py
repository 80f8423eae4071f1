"""Read a count from 0 to 20 as VLMEvalKit does for TallyQA."""

import re

from mmscore.core.parsed import UNPARSED, Parsed

WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip

_COUNT = re.compile(rf"\b(?:[0-9]|1[0-9]|20|{'|'.join(WORDS)})\b")


def vlmevalkit_count(text: str) -> Parsed:
    """Find the first whole number from 0 to 20, in digits or as an English word.

    Args:
        text: The model's response.

    Returns:
        The number in digits; `UNPARSED` where there is none.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/tallyqa.py:text_to_int. Kept on purpose: of 3.5
    the 3 is read, of 21 and 007 nothing, and "one of them shows two" is 1.

    Example:
        >>> vlmevalkit_count("There are Three dogs.")
        Parsed(value='3', how='number', span=(10, 15))
        >>> vlmevalkit_count("21 dogs").how
        'unparsed'
    """
    lowered = text.lower()
    match = _COUNT.search(lowered)
    if match is None:
        return UNPARSED
    found = match[0]
    # Lower-casing may change the length.
    return Parsed(
        found if found.isdigit() else str(WORDS.index(found)),
        "number",
        match.span() if len(lowered) == len(text) else None,
    )


PARSER = vlmevalkit_count
