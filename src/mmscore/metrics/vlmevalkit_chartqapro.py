"""Score an answer of ChartQAPro as VLMEvalKit does: 5 % margin for numbers, ANLS for texts, equality for years."""

import re
from collections.abc import Sequence

from mmconvert.core.errors import RowError, show
from mmconvert.core.text.literals import parse_short_literal
from mmscore.nlp.relaxed_match import compute_anls_distance

MARGIN = 0.05
FARTHEST = 0.5
"""From this distance on two texts have nothing in common."""
YEAR = "YES"

_LIST = re.compile(r"\[(.*)\]")
# Source: the framework's fix_list_format. A word between blanks is a string of its own, which Python joins.
_BARE = re.compile(r"(?<!['\w])(\w[^,]*?)(?!['\w])")


def vlmevalkit_chartqapro(prediction: str, reference: str, years: Sequence[str]) -> float:
    """Score a response.

    Args:
        prediction: The model's response.
        reference: A text, or a list as a literal of Python, its strings quoted or not.
        years: For each element of the reference, `YES` where it is a year, in any case; too few are repeated.

    Returns:
        Mean over the elements, 0 to 1; elements that one side lacks are 0.

    Raises:
        RowError: There are no flags of years.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/chartqapro.py:relaxed_correctness_chartqapro,
    fix_list_format, parse_to_list, evaluate_single_answer, with anls 0.0.2. Not kept: a literal longer than
    10,000 characters is a text here.

    Example:
        >>> vlmevalkit_chartqapro("10.4", "10", ["NO"]), vlmevalkit_chartqapro("2014", "2015", ["yes"])
        (1.0, 0.0)
        >>> vlmevalkit_chartqapro("['Ulm', '4%']", "[Ulm, 4, 5]", ["NO"])
        0.6666666666666666
    """
    wanted, given = (
        _list_elements(_quote_elements(reference)) or [reference],
        _list_elements(prediction) or [prediction],
    )
    shared = min(len(wanted), len(given))
    if not years:
        raise RowError("extra.missing", "extra.year", "the row has no flag of years. Keep this column of the table.")
    flags = [years[number % len(years)].upper() == YEAR for number in range(shared)]
    scores = [
        float(w.strip().lower() == g.strip().lower()) if is_year else _compare(w, g)
        for w, g, is_year in zip(wanted, given, flags, strict=False)
    ]
    return sum(scores) / max(len(wanted), len(given))


def read_year_flags(cell: str) -> list[str]:
    """Read which elements of an answer are years.

    Raises:
        RowError: The cell is no list of texts.
    """
    return read_texts(cell, "extra.year")


def read_texts(cell: str, field: str) -> list[str]:
    """Read a cell that holds a list of texts.

    Raises:
        RowError: It is none.
    """
    try:
        values = parse_short_literal(cell)
    except RowError:
        values = None
    if not isinstance(values, list) or not values or not all(isinstance(value, str) for value in values):
        raise RowError("list.type", field, f"expected a list of texts {show(cell)}. Write it as ['TEXT'].")
    return values


def _quote_elements(reference: str) -> str:
    """Give a list with its bare words quoted; any other text as it is."""
    match = _LIST.fullmatch(reference.strip())
    if match is None:
        return reference
    quoted = "[" + _BARE.sub(r"'\1'", match[1]) + "]"
    return reference if _read(quoted) is None else quoted


def _list_elements(text: str) -> list[str] | None:
    values = _read(text)
    return [str(value).strip(" '") for value in values] if isinstance(values, list) else None


def _read(text: str) -> object:
    try:
        return parse_short_literal(text)
    except RowError:
        return None


def _compare(wanted: str, given: str) -> float:
    wanted, given = (text.strip().strip("%").strip() for text in (wanted, given))
    target, said = _read_number(wanted), _read_number(given)
    if target is not None and said is not None:
        return float(said == 0 if target == 0 else abs(said - target) / abs(target) <= MARGIN)
    distance = compute_anls_distance(*(" ".join(text.lower().split()) for text in (wanted, given)))
    return 1 - distance if distance < FARTHEST else 0.0


def _read_number(text: str) -> float | None:
    try:
        return float(text.strip().strip("%"))
    except ValueError:
        return None


METRIC = vlmevalkit_chartqapro
