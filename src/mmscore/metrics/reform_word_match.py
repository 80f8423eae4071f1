"""Score read text as ReForm-Eval does: the reference must stand in the reply as whole words."""

import re
from collections.abc import Sequence

from mmscore.nlp.vqa_normalize import DOT_BEFORE_NO_DIGIT, process_answer

OTHER_CHARACTER = re.compile(r"[^a-zA-Z0-9\s]")


def match_ocr(prediction: str, reference: str | Sequence[str]) -> bool:
    """Score scene text: all but ASCII letters, digits and blanks is taken out, case ignored.

    Args:
        prediction: The model's reply.
        reference: The text; several are one long phrase, not alternatives.

    Returns:
        Whether the reference stands in the reply. Where nothing is left of it, any word will do.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 metrics/ocropenended.py:OCROpenEndedMetric.

    Example:
        >>> match_ocr("It says U.S.A.!", "usa"), match_ocr("exits", "exit"), match_ocr("word", "北京")
        (True, False, True)
    """
    wanted = reference if isinstance(reference, str) else " ".join(reference)
    said, words = (OTHER_CHARACTER.sub("", text).lower() for text in (prediction, wanted))
    return contains_words(said, words)


def match_kie(prediction: str, references: Sequence[str]) -> bool:
    """Score key information: both sides are rewritten as in VQA, each reference will do.

    Args:
        prediction: The model's reply.
        references: The alternatives.

    Returns:
        Whether one of them stands in the reply.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 metrics/kieopenended.py:KIEOpenEndedMetric. Marks that are
    no word characters have no word boundary, so that `#1` is never found.

    Example:
        >>> match_kie("Total: 2 cats.", ["two cats"]), match_kie("it is #1", ["#1"])
        (True, False)
    """
    said = normalize_kie_text(prediction)
    return any(contains_words(said, normalize_kie_text(reference)) for reference in references)


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
