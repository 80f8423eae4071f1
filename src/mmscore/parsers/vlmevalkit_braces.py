"""Read the text in the last braces of a response, as VLMEvalKit does for ZEROBench."""

import re

from mmscore.core.parsed import UNPARSED, Parsed

# An opening brace whose line ends before a closing one takes the rest of the line, so that each is read once.
_BRACES = re.compile(r"\{([^}\n]*+)(\}|)")


def vlmevalkit_braces(text: str) -> Parsed:
    """Find the last pair of braces that stand in one line.

    Args:
        text: The model's response.

    Returns:
        What is between them, inner opening braces included; `UNPARSED` where there are none.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_vqa.py:ZEROBench.evaluate.

    Example:
        >>> vlmevalkit_braces("First {3}, no, {4 m} it is.")
        Parsed(value='4 m', how='in braces', span=(16, 19))
        >>> vlmevalkit_braces("{3").how
        'unparsed'
    """
    closed = [match for match in _BRACES.finditer(text) if match[2]]
    return Parsed(closed[-1][1], "in braces", closed[-1].span(1)) if closed else UNPARSED


PARSER = vlmevalkit_braces
