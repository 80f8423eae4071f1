"""Read the possible answers to an open question as MMMU's own evaluation script does."""

import re

# Source: MMMU-Benchmark/MMMU@bb0b95a mmmu/utils/eval_utils.py:parse_open_response, extract_numbers
INDICATORS = ("could be ", "so ", "is ", "thus ", "therefore ", "final ", "answer ", "result ")
LONE_MARKS = frozenset(":,.!?;'")
NUMBER_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        r"-?\b\d{1,3}(?:,\d{3})+\b",
        r"-?\d+(?:\.\d+)?[eE][+-]?\d+",
        r"-?(?:\d+\.\d+|\.\d+|\d+\b)(?![eE][+-]?\d+)(?![,\d])",
    )
)


def mmmu_open(response: str) -> list[str | float]:
    r"""List every answer that a free response may mean: key phrases and the numbers in them.

    Args:
        response: The model's response.

    Returns:
        Lower-case texts and numbers rounded to two decimals, without repeats (NaN repeats), in
        the order they were found; the script's own order is undefined.

    Parity: MMMU-Benchmark/MMMU@bb0b95a mmmu/utils/eval_utils.py:parse_open_response. Kept on
    purpose: indicators match inside words ("this "), and only line breaks separate sentences.

    Example:
        >>> mmmu_open("I add them up.\nSo the answer is 3,500 kg.")
        ['3,500 kg', 3500.0, 500.0]
        >>> mmmu_open("B")
        [' b', 'b ']
    """
    phrases = _find_key_phrases(response.strip().strip(".").lower())
    numbers = [number for phrase in phrases for number in extract_numbers(phrase)]
    return list(dict.fromkeys(value for text in (*phrases, *numbers) for value in normalize_str(text)))


def _find_key_phrases(text: str) -> list[str]:
    lines = text.split("\n")
    phrases = []
    for number, line in enumerate(lines, 1):
        indicators = (*INDICATORS, "=") if number == len(lines) else INDICATORS
        shortest = ""
        for indicator in indicators:
            if indicator in line:
                tail = line.rpartition(indicator)[2].strip()
                if not shortest or len(tail) < len(shortest):
                    shortest = tail
        if shortest and shortest not in LONE_MARKS:
            phrases.append(shortest)
    return phrases or [text]


def extract_numbers(text: str) -> list[str]:
    """Find numbers: all with thousands commas, then all with exponents, then plain ones.

    A number may be found more than once, in part too.

    Returns:
        The matched pieces of text.

    Parity: MMMU-Benchmark/MMMU@bb0b95a mmmu/utils/eval_utils.py:extract_numbers.

    Example:
        >>> extract_numbers("3,500 or 1.5e3 but not 12kg")
        ['3,500', '1.5e3', '500', '1', '3']
    """
    return [number for pattern in NUMBER_PATTERNS for number in pattern.findall(text)]


def normalize_str(text: str) -> list[str | float]:
    """Turn a text into the values that stand for it: one number, or one or two lower-case texts.

    Args:
        text: An answer or a piece of one.

    Returns:
        `[number]`, rounded to two decimals, where the text without commas is a Python float
        literal (`nan` and `inf` too); else the lower-case text, and a single character with a
        blank before and after instead, so that it does not match inside words.

    Parity: MMMU-Benchmark/MMMU@bb0b95a mmmu/utils/eval_utils.py:normalize_str.

    Example:
        >>> normalize_str(" 1,234.567 "), normalize_str("Paris"), normalize_str("B")
        ([1234.57], ['paris'], [' b', 'b '])
    """
    text = text.strip()
    try:
        return [round(float(text.replace(",", "")), 2)]
    except ValueError:
        lowered = text.lower()
        return [f" {lowered}", f"{lowered} "] if len(lowered) == 1 else [lowered]


PARSER = mmmu_open
