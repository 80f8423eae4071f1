"""Read the point of a click as VLMEvalKit does for ScreenSpot."""

import json
import re

from mmscore.core.parsed import UNPARSED, Parsed

NO_NUMBER = "no number"
"""How a response is read whose point has the right form and is no number, such as `x=1.2.3`."""

_CLICK = re.compile(r"x=([\d.]++), y=([\d.]++)")


def vlmevalkit_click(text: str) -> Parsed:
    """Find the first point that is written as `x=NUMBER, y=NUMBER`.

    Args:
        text: The model's response.

    Returns:
        The point as a JSON list; `UNPARSED` where there is none.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/GUI/screenspot.py:parse_bbox_aguvis.

    Example:
        >>> vlmevalkit_click("pyautogui.click(x=0.5, y=12)")
        Parsed(value='[0.5, 12.0]', how='point', span=(16, 27))
        >>> vlmevalkit_click("x=1.2.3, y=4").how, vlmevalkit_click("(1, 2)").how
        ('no number', 'unparsed')
    """
    match = _CLICK.search(text)
    if match is None:
        return UNPARSED
    try:
        point = [float(number) for number in match.groups()]
    except ValueError:
        return Parsed(None, NO_NUMBER)
    return Parsed(json.dumps(point), "point", match.span())


def read_point(parsed: Parsed) -> tuple[float, ...]:
    """Give the point that was read; the upper left corner where there is none, as the framework does."""
    return (0.0, 0.0) if parsed.value is None else tuple(json.loads(parsed.value))


PARSER = vlmevalkit_click
