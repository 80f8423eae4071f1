"""MMLongBench-Doc as VLMEvalKit grades it: an extracted answer held against the reference, by the format of the answer.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/mmlongbenchdoc.py:eval_score and what it calls. Kept on
purpose: a unit at the end of an answer is not cut off. Not kept: a list is read as a literal, and not run.
"""

import math
import re
from collections.abc import Callable, Mapping

from mmconvert.core.errors import RowError
from mmconvert.core.text.literals import parse_short_literal
from mmscore.nlp.edit_distance import compute_edit_distance

NOT_ANSWERABLE = "Not answerable"
LEAST_SIMILARITY = 0.5
TOLERANCE = 0.01
"""Relative error of a number that is near enough."""

_FEWEST_DIGITS, _USUAL_DIGITS = 2, 3
_PARENTHESIS = re.compile(r"\s*\([^)]*\)")
_QUOTES = re.compile(r"^['\"]|['\"]$")
_EXACT = re.compile(
    r"""\b\d+(?:-\d+|\s\d+)?\b  # a telephone number
        |\b\d{4}[-\s]\d{2}(?:[-\s]\d{2})?\b  # a date
        |[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}""",
    re.VERBOSE,
)


def grade_answer(reference: str, extracted: str, form: str) -> float:
    """Grade an extracted answer.

    Args:
        reference: The answer cell.
        extracted: What the judge took out of the response.
        form: Format of the answer: `Int`, `Float`, `Str`; any other is a list.

    Returns:
        1 where they agree, for texts their similarity where it is more than one half, else 0; a reference that is not
        in its format is never met.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/mmlongbenchdoc.py:eval_score, MMLongBench_acc.

    Example:
        >>> grade_answer("12", "12.7", "Int"), grade_answer("0.25", "25%", "Float"), grade_answer("['a']", "A", "List")
        (1.0, 1.0, 1.0)
        >>> grade_answer("a red kite", "a red bike", "Str")
        0.8
    """
    try:
        return float(_GRADES.get(form, _grade_list)(reference, extracted))
    except (ValueError, OverflowError, IndexError, RowError):
        return 0.0


def _grade_whole_number(reference: str, extracted: str) -> float:
    return int(reference) == int(float(extracted))


def _grade_number(reference: str, extracted: str) -> float:
    wanted = _read_float(_clean(reference))
    given = float(_clean(extracted))
    return any(_is_near(scaled, given) for scaled in (wanted / 100, wanted, wanted * 100))


def _read_float(text: str) -> float:
    return float(text.strip().rstrip("%").strip())


def _is_near(wanted: float, given: float) -> bool:
    if math.isclose(wanted, given, rel_tol=TOLERANCE):
        return True
    digits = max(min(_count_digits(given), _count_digits(wanted)), _FEWEST_DIGITS)
    return round(given, digits) == round(wanted, digits)


def _count_digits(number: float) -> int:
    _, point, digits = str(number).rpartition(".")
    return len(digits) if point else _USUAL_DIGITS


def _grade_text(reference: str, extracted: str) -> float:
    wanted, given = _clean(reference), _clean(extracted)
    return wanted == given if _is_exact(wanted) else _compute_similarity(wanted, given)


def _grade_list(reference: str, extracted: str) -> float:
    wanted, given = (_read_items(text) for text in (reference, extracted))
    if len(wanted) != len(given):
        return 0.0
    if _is_number(wanted[0]) or _is_exact(wanted[0]):
        return "-".join(wanted) == "-".join(given)
    return min(map(_compute_similarity, wanted, given))


def _read_items(text: str) -> list[str]:
    found = parse_short_literal(text) if text.startswith("[") else text
    items = found if isinstance(found, list) else [found]
    return sorted(_clean(str(item)) for item in items)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _clean(text: str) -> str:
    text = _PARENTHESIS.sub("", text.lower().strip()).strip()
    return _QUOTES.sub("", text).strip().lstrip("$").strip().rstrip("%").strip()


def _is_exact(text: str) -> bool:
    """Tell whether a text is one that is right or wrong as a whole: an address, a file, a page, a date or time."""
    return (
        any(part in text for part in ("https://", "a.m.", "p.m."))
        or text.endswith((".py", "ipynb"))
        or text.startswith("page")
        or _EXACT.fullmatch(text) is not None
    )


def _compute_similarity(reference: str, extracted: str) -> float:
    longest = max(len(reference.upper()), len(extracted.upper()))
    similarity = 1.0 - (compute_edit_distance(reference, extracted) / longest if longest else 0.0)
    return similarity if similarity > LEAST_SIMILARITY else 0.0


_GRADES: Mapping[str, Callable[[str, str], float]] = {
    "Int": _grade_whole_number,
    "Float": _grade_number,
    "Str": _grade_text,
}
