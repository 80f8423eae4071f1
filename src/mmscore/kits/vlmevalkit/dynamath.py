"""DynaMath as VLMEvalKit reads and grades it.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/dynamath.py:preprocess, parse_answer, DynaMath_auxeval.
"""

import json
import math
from typing import Any

from mmconvert.core.errors import RowError, show
from mmscore.core.parsed import UNPARSED, Parsed

FLOAT, MULTIPLE_CHOICE = "float", "multiple choice"
"""Values of the framework's column `answer_type` that have a rule; any other is a text."""

SHORT_ANSWER = "short answer"
TOLERANCE = 0.001

_LETTERS = "ABCDE"
_PI = "\u03c0"
_START = 3
"""Characters of a response in which the right letter counts where no answer was read."""


def cut_object(prediction: str) -> str:
    r"""Give what stands in a response from its first to its last brace, all of it where there is none.

    Backslashes are left out.

    Example:
        >>> cut_object('Here: {"short answer": "\\pi"}.')
        '{"short answer": "pi"}'
    """
    start, end = prediction.find("{"), prediction.rfind("}")
    return (prediction[start : end + 1] if 0 <= start < end else prediction).replace("\\", "")


def read_short_answer(text: str, kind: str, how: str) -> Parsed:
    """Read a short answer.

    Args:
        text: The answer.
        kind: Its type: `float`, `multiple choice`, or any other for a text.
        how: What the answer was found by.

    Returns:
        The first word as a number, also a multiple of \u03c0; the only letter from A to E; the text as it is.

    Example:
        >>> read_short_answer("2\u03c0 cm", "float", "reply").value
        '6.283185307179586'
        >>> [read_short_answer(text, "multiple choice", "reply").value for text in ("(b)", "A or B")]
        ['B', None]
    """
    if kind == FLOAT:
        number = _read_number(text)
        return UNPARSED if number is None else Parsed(repr(number), how)
    if kind != MULTIPLE_CHOICE:
        return Parsed(text, how)
    if len(text) == 1:
        return Parsed(text.upper(), how)
    found = [letter for letter in _LETTERS if letter in text.upper()]
    return Parsed(found[0], how) if len(found) == 1 else UNPARSED


def _read_number(text: str) -> float | None:
    word = text.split(" ")[0]
    factor, pi, _ = word.partition(_PI)
    try:
        return float(factor) * (math.pi if pi else 1.0)
    except ValueError:
        return None


def read_response(prediction: str, kind: str) -> Parsed:
    """Read the answer of a response: that of the JSON object in it, else the response itself.

    Args:
        prediction: The model's response.
        kind: Type of the answer.

    Example:
        >>> said = ('{"solution": "2 + 1", "short answer": "3"}', "3.0", "It is three.")
        >>> [read_response(text, "float").value for text in said]
        ['3.0', '3.0', None]
    """
    text = cut_object(prediction)
    short = _find_short_answer(text)
    parsed = UNPARSED if short is None else read_short_answer(short, kind, SHORT_ANSWER)
    return parsed if parsed.value is not None else read_short_answer(text, kind, "whole response")


def _find_short_answer(text: str) -> str | None:
    try:
        found: Any = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    short = found.get(SHORT_ANSWER) if isinstance(found, dict) else None
    return short if isinstance(short, str) else None


def is_right(read: str | None, reference: str, kind: str, prediction: str) -> bool:
    """Tell whether an answer is right.

    Args:
        read: What was read in the response or by the judge; None for nothing.
        reference: The answer cell.
        kind: Type of the answer.
        prediction: The model's response.

    Returns:
        Numbers: within 0.001. Letters: the same; without a letter, whether the right one stands in the first three
        characters. Texts: whether the reference holds the answer, but for case.

    Raises:
        RowError: The reference of a number is none.

    Example:
        >>> is_right("3.0", "3.0005", "float", ""), is_right(None, "B", "multiple choice", "(b, c)")
        (True, True)
        >>> is_right("Red", "bright red", "text", "")
        True
    """
    if kind == FLOAT:
        return read is not None and abs(float(read) - _read_reference(reference)) <= TOLERANCE
    if read is None:
        return reference in cut_object(prediction)[:_START].upper()
    return read == reference if kind == MULTIPLE_CHOICE else read.lower() in reference.lower()


def _read_reference(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise RowError("answer.number", "answer", f"expected a number {show(text)}.") from None
