"""Read yes or no as POPE's own script does: no where the first sentence says so, else yes."""

import re

from mmscore.core.parsed import UNPARSED, Parsed

# Source: AoiDragon/POPE@f3ec604 evaluate.py
WORDS_OF_NO = frozenset(("No", "no", "not"))
"""Words in which a response is a no; `NO` and `Not` are none."""

_WORD = re.compile(r"[^ ]+")
_YES = re.compile(r"\byes\b", re.IGNORECASE)


def pope_yes_no(text: str) -> Parsed:
    """Look for a word of no before the first full stop; commas do not count, only blanks part words.

    Args:
        text: The model's response.

    Returns:
        `no` with the word's span; `yes` with that of a yes; `UNPARSED` for neither, which POPE counts as yes.

    Parity: AoiDragon/POPE@f3ec604 evaluate.py.

    Example:
        >>> pope_yes_no("No, there is none."), pope_yes_no("Yes. It is not hidden.").value, pope_yes_no("NO").how
        (Parsed(value='no', how='word of no', span=(0, 3)), 'yes', 'unparsed')
    """
    sentence = text.partition(".")[0]
    for word in _WORD.finditer(sentence):
        if word[0].replace(",", "") in WORDS_OF_NO:
            return Parsed("no", "word of no", word.span())
    yes = _YES.search(sentence)
    return Parsed("yes", "word yes", yes.span()) if yes else UNPARSED


PARSER = pope_yes_no
