"""Score read text as ReForm-Eval does: the response must contain the reference as whole words."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from mmconvert.core.errors import RowError, show
from mmscore.nlp.vqa_normalize import DOT_BEFORE_NO_DIGIT, process_answer

OTHER_CHARACTER = re.compile(r"[^a-zA-Z0-9\s]")


class WordMatch(msgspec.Struct, frozen=True):
    """What became of a comparison.

    Attributes:
        right: A reference stands in the response.
        prediction: The response as one text; of key information rewritten.
        references: The references; of key information rewritten up to the one that stands in the response.
    """

    right: bool
    prediction: str
    references: tuple[str, ...]


def match_ocr(prediction: str, reference: str | Sequence[str]) -> bool:
    """Tell whether scene text is right; see `compare_ocr`.

    Example:
        >>> match_ocr("It says U.S.A.!", "usa"), match_ocr("exits", "exit"), match_ocr("word", "北京")
        (True, False, True)
    """
    return compare_ocr(prediction, reference).right


def compare_ocr(prediction: str | Sequence[str], reference: str | Sequence[str]) -> WordMatch:
    """Score scene text: all but ASCII letters, digits and blanks is taken out, case ignored.

    Args:
        prediction: The model's response; several are one long text.
        reference: The text; several are one long phrase, not alternatives.

    Returns:
        Whether the reference stands in the response. Where nothing is left of it, any word will do.

    Raises:
        RowError: One of them is not a text.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 metrics/ocropenended.py:OCROpenEndedMetric.

    Example:
        >>> compare_ocr(["an", "EXIT sign"], "exit").prediction
        'an EXIT sign'
    """
    text, wanted = (_join_texts(*side) for side in ((prediction, "prediction"), (reference, "answer")))
    said, words = (OTHER_CHARACTER.sub("", side).lower() for side in (text, wanted))
    return WordMatch(contains_words(said, words), text, (wanted,))


def match_kie(prediction: str, reference: str | Sequence[str]) -> bool:
    """Tell whether key information is right; see `compare_kie`.

    Example:
        >>> match_kie("Total: 2 cats.", ["two cats"]), match_kie("it is #1", "#1")
        (True, False)
    """
    return compare_kie(prediction, reference).right


def compare_kie(prediction: str, reference: str | Sequence[str]) -> WordMatch:
    """Score key information: both sides are rewritten as in VQA, each reference will do.

    Args:
        prediction: The model's response.
        reference: The text, or the alternatives.

    Returns:
        Whether one of them stands in the response.

    Raises:
        RowError: One of them is not a text.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 metrics/kieopenended.py:KIEOpenEndedMetric. Marks that are
    no word characters have no word boundary, so that `#1` is never found.

    Example:
        >>> compare_kie("Total: 2 cats.", ["a dog", "two cats", "a cow"])
        WordMatch(right=True, prediction='total: 2 cats', references=('dog', '2 cats', 'a cow'))
    """
    said = normalize_kie_text(_require_text(prediction, "prediction"))
    written: list[Any] = list(reference) if isinstance(reference, list | tuple) else [reference]
    for place, text in enumerate(written):
        written[place] = normalize_kie_text(_require_text(text, "answer"))
        if contains_words(said, written[place]):
            return WordMatch(True, said, tuple(written))
    return WordMatch(False, said, tuple(written))


def _join_texts(value: Any, field: str) -> str:
    texts = value if isinstance(value, list | tuple) else [value]
    return " ".join(_require_text(text, field) for text in texts)


def _require_text(value: Any, field: str) -> str:
    if not isinstance(value, str):
        raise RowError(f"{field}.type", field, f"expected a text {show(value)}.")
    return value


def normalize_kie_text(text: str) -> str:
    """Rewrite a text for `match_kie`.

    Example:
        >>> normalize_kie_text("The Two-cats.")
        '2 cats'
    """
    return process_answer(text, DOT_BEFORE_NO_DIGIT)


def contains_words(text: str, words: str) -> bool:
    r"""Tell whether words stand in a text with a word boundary on both sides, as `\b...\b` would find them.

    Example:
        >>> contains_words("the exit sign", "exit"), contains_words("exits", "exit"), contains_words("a", "")
        (True, False, True)
    """
    start = text.find(words)
    while start >= 0:
        if _is_boundary(text, start) and _is_boundary(text, start + len(words)):
            return True
        start = text.find(words, start + 1)
    return False


def _is_boundary(text: str, place: int) -> bool:
    before, behind = text[place - 1 : place] if place else "", text[place : place + 1]
    return _is_word(before) != _is_word(behind)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


METRIC = match_ocr
