"""Compare a short answer with its references by our own rule: the same text, or the same number."""

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal

# Words for small numbers; a reference of one word should match its digit.
NUMBERS = {
    "zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
    "nine": "9", "ten": "10", "eleven": "11", "twelve": "12",
}  # fmt: skip
ARTICLES = frozenset(("a", "an", "the"))

LATEX_TEXT = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|operatorname)\s*\{([^{}]*)\}")
LATEX_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
LATEX_SPACE = re.compile(r"\\[,;:! ]|~|\\quad\b|\\left\b|\\right\b|\$")
THOUSANDS = re.compile(r"(?<![\d.,])(\d{1,3}(?:,\d{3})+)(?![\d,])")
NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,4})?", re.ASCII)
FRACTION = re.compile(r"([+-]?\d{1,15})/(\d{1,15})", re.ASCII)
UNIT = re.compile(r"(?<=\d)(?=[^\W\d_])")
LEADING_DOT = re.compile(r"[+-]?\.\d")
EDGES = " .,;:!?\"'`*_“”‘’「」《》。，、；：！？"


def normalized_match(prediction: str, references: Sequence[str]) -> float:
    r"""Tell whether an answer is one of the references, prompt template of the same thing aside.

    Case, blanks, outer marks, English articles, LaTeX wrappers and full-width forms do not count.
    Numbers are compared by value: `1,000` is `1000.0`, `1/2` is `\frac{1}{2}` and `0.5`, `two` is
    `2`. `50%` is not `0.5`, and a unit must be the same (`5kg` is `5 kg`).

    Args:
        prediction: The answer, such as `own_short_answer` gives it.
        references: The references.

    Returns:
        1.0 or 0.0; 0.0 when there are no references.

    Parity: own definition.

    Example:
        >>> normalized_match("The  Red car.", ["red car"]), normalized_match("1,000.0", ["1000"])
        (1.0, 1.0)
        >>> normalized_match("50%", ["0.5"])
        0.0
    """
    given = normalize_text(prediction)
    number = _read_value(given)
    for reference in references:
        wanted = normalize_text(reference)
        if given == wanted or (number is not None and number == _read_value(wanted)):
            return 1.0
    return 0.0


def normalize_text(text: str) -> str:
    r"""Rewrite an answer so that prompt templates of the same thing become equal.

    Args:
        text: An answer.

    Returns:
        The text case-folded and in its compatibility form, LaTeX wrappers, outer marks, articles
        and commas between thousands taken out, single blanks; numbers of one word as digits.

    Example:
        >>> normalize_text(r"$\text{ The Cat}$."), normalize_text("Ｔwo"), normalize_text(r"\dfrac{1}{2}")
        ('cat', '2', '1/2')
    """
    text = LATEX_FRACTION.sub(r"\1/\2", LATEX_TEXT.sub(r"\1", text))
    text = unicodedata.normalize("NFKC", LATEX_SPACE.sub(" ", text)).casefold().replace("−", "-")
    trimmed = text.rstrip(EDGES) if LEADING_DOT.match(text.strip()) else text.strip(EDGES)
    spaced = THOUSANDS.sub(lambda found: found[1].replace(",", ""), trimmed).replace("⁄", "/").replace("%", " % ")
    words = [part for word in spaced.split() for part in _split_word(word)]
    kept = [word for word in words if word not in ARTICLES]
    return " ".join(kept or words)


def _split_word(word: str) -> list[str]:
    """Write a number word as digits, and put a blank between a number and its unit."""
    return [word] if NUMBER.fullmatch(word) else UNIT.sub(" ", NUMBERS.get(word, word)).split()


def _read_value(text: str) -> Decimal | None:
    """Read a whole normalised text as a number, exactly."""
    text = text.replace(" ", "") if text[:1] in "+-" else text
    fraction = FRACTION.fullmatch(text)
    if fraction:
        return Decimal(fraction[1]) / Decimal(fraction[2]) if int(fraction[2]) else None
    return Decimal(text) if NUMBER.fullmatch(text) else None


METRIC = normalized_match
