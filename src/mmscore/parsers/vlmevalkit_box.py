"""Read a box as VLMEvalKit does for RefCOCO."""

import json
import re

from mmscore.core.parsed import UNPARSED, Parsed

CORNERS = 4

# Possessive, so that a long row of digits is read once.
_NUMBER = r"[-+]?(?:\d++(?:\.\d++)?+|\.\d++)(?:[eE][-+]?\d++)?+"
_FIRST = re.compile(_NUMBER)
_BRACKETS = re.compile(rf"\[\s*+({_NUMBER})" + rf"(?:\s*+,\s*+|\s++)({_NUMBER})" * (CORNERS - 1) + r"\s*+\]")


def vlmevalkit_box(text: str) -> Parsed:
    """Find four numbers: the first such list in brackets, else the first four of the text.

    Args:
        text: The model's response.

    Returns:
        The numbers as a JSON list, in the order and unit of the response; `UNPARSED` where there are fewer.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/refcoco.py:RefCOCODataset._parse_prediction.

    Example:
        >>> vlmevalkit_box("Box 1: [10, 20.5 30, 4e1]")
        Parsed(value='[10.0, 20.5, 30.0, 40.0]', how='brackets', span=(7, 25))
        >>> vlmevalkit_box("(1, 2), (3, 4)").value, vlmevalkit_box("none").how
        ('[1.0, 2.0, 3.0, 4.0]', 'unparsed')
    """
    if match := _BRACKETS.search(text):
        return Parsed(json.dumps(list(map(float, match.groups()))), "brackets", match.span())
    found = [number for number, _ in zip(_FIRST.finditer(text), range(CORNERS), strict=False)]
    if len(found) < CORNERS:
        return UNPARSED
    return Parsed(json.dumps([float(number[0]) for number in found]), "numbers", (found[0].start(), found[-1].end()))


PARSER = vlmevalkit_box
