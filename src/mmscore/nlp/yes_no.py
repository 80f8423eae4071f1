"""Yes or no at the start of a response, as MME's tool and its descendants look for it."""

from mmscore.core.parsed import UNPARSED, Parsed

LENGTH = 4
"""How many characters are looked at."""


def parse_yes_no_start(text: str) -> Parsed:
    """Find `yes`, else `no`, within the first four characters, inside words too.

    Args:
        text: A response in small letters.

    Returns:
        `yes` or `no` with its span; `UNPARSED` for neither.

    Example:
        >>> parse_yes_no_start("yes, there is").value, parse_yes_no_start("nope").value
        ('yes', 'no')
        >>> parse_yes_no_start("i know").how
        'unparsed'
    """
    for word in ("yes", "no"):
        start = text[:LENGTH].find(word)
        if start >= 0:
            return Parsed(word, "first four characters", (start, start + len(word)))
    return UNPARSED
