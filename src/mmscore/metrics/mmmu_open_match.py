"""Judge an open answer as MMMU's own evaluation script does."""

from collections.abc import Sequence

from mmscore.parsers.mmmu_open import normalize_str


def mmmu_open_match(gold: str | Sequence[str], parsed: Sequence[str | float]) -> bool:
    """Tell whether any parsed value meets a reference.

    Args:
        gold: One reference or several.
        parsed: Values from `mmmu_open`.

    Returns:
        True when a text among the values contains a reference that is a text, or a number among
        them equals a reference that is a number (both rounded to two decimals).

    Parity: MMMU-Benchmark/MMMU@bb0b95a mmmu/utils/eval_utils.py:eval_open. A number as reference
    never matches a text, and an empty reference is contained in every text.

    Example:
        >>> mmmu_open_match("42", ["the answer is 42", 42.0]), mmmu_open_match("5%", [5.0])
        (True, False)
    """
    golds = [value for text in ([gold] if isinstance(gold, str) else gold) for value in normalize_str(text)]
    texts = [value for value in golds if isinstance(value, str)]
    return any(any(text in value for text in texts) if isinstance(value, str) else value in golds for value in parsed)


METRIC = mmmu_open_match
