"""Read a choice letter as VLMEvalKit does, in any of its three dated behaviours.

v1   until 2025-08-03: the only option letter among the words, wherever it stands
v2   2025-08-04 to 2026-06-16: the letter must be among the last four words, and a response
     longer than twice all option texts is not searched for them
v3   since 2026-06-17: as v2, then the phrase "answer is X" with X in A to D, in any case and
     without a word boundary ("answer is apple" gives A)
"""

import re
from collections.abc import Collection, Mapping
from functools import cache, lru_cache
from string import ascii_uppercase
from typing import Literal

from mmconvert.core.errors import RowError, show
from mmscore.core.parsed import UNPARSED, Parsed

Version = Literal["v1", "v2", "v3"]

REFUSAL = "Z"
"""The letter that stands for "none of the options"; it wins when the response refuses to answer."""

API_FAILURE = "Failed to obtain answer via API"

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/utils/matching_util.py, reject_to_answer
REFUSAL_PHRASES = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)
SHORTEST_PHRASE = min(len(phrase) for phrase in (*REFUSAL_PHRASES, API_FAILURE))

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/utils/matching_util.py:can_infer_option
SEPARATORS = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))
_SHORT = 64
"""Characters of a response that is likely to be given many times: a letter, or a sentence around it."""

ANSWER_PHRASE = re.compile(r"(?i)answer\s+is\s+\**([ABCD])")


def vlmevalkit_option(text: str, options: Mapping[str, str], version: Version = "v3") -> Parsed:
    """Infer the option that a response names: by its letter, else by its text.

    Args:
        text: The model's response.
        options: Option texts by letter, upper-case, absent options left out.
        version: Dated behaviour of the framework.

    Returns:
        The letter, or "Z" for a refusal; `UNPARSED` when nothing can be inferred.

    Raises:
        RowError: A key of `options` is no upper-case letter and the option texts had to be
            searched.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/utils/matching_util.py:can_infer (v3);
    ms-vlmeval 0.0.20 (v2); VLMEvalKit before c3371551 (v1).

    Example:
        >>> vlmevalkit_option("The answer is (B).", {"A": "cat", "B": "dog"}).value
        'B'
        >>> vlmevalkit_option("It shows a dog", {"A": "cat", "B": "dog"})
        Parsed(value=None, how='unparsed', span=None)
        >>> vlmevalkit_option("It shows a dog", {"A": "cat", "B": "dog"}, "v1")
        Parsed(value='B', how='option text', span=(11, 14))
    """
    parsed = infer_option(text, options, version)
    return parsed if parsed.value is not None else infer_option_text(text, options, version)


def infer_option(text: str, options: Mapping[str, str], version: Version = "v3") -> Parsed:
    """Infer the option whose letter stands alone in the response.

    Args:
        text: The model's response.
        options: Option texts by letter; only the letters matter.
        version: Dated behaviour of the framework.

    Returns:
        The letter, or "Z" for a refusal; `UNPARSED` when the letters do not decide.

    Example:
        >>> infer_option("A or B", {"A": "cat", "B": "dog"}).how
        'unparsed'
        >>> infer_option("Cannot determine the answer.", {"A": "cat", "B": "dog"}).value
        'Z'
    """
    if len(text) <= _SHORT:
        return _infer_again(text, tuple(options), version)
    return _infer(text, options, version)


@lru_cache(maxsize=1 << 14)
def _infer_again(text: str, letters: tuple[str, ...], version: Version) -> Parsed:
    return _infer(text, letters, version)


def _infer(text: str, letters: Collection[str], version: Version) -> Parsed:
    if len(text) >= SHORTEST_PHRASE:
        if API_FAILURE in text:
            return UNPARSED
        if any(phrase in text for phrase in REFUSAL_PHRASES):
            return Parsed(REFUSAL, "refusal")
    cleaned = text.translate(SEPARATORS)
    words = cleaned.split()
    named = {*letters} & {*words} if len(words) > 1 else [word for word in words if word in letters]
    if len(named) == 1:
        (letter,) = named
        if version == "v1" or words.index(letter) > len(words) - 5:
            return Parsed(letter, "option letter", _find_word_span(cleaned, letter))
    elif not named and REFUSAL in words:
        return Parsed(REFUSAL, "refusal letter", _find_word_span(cleaned, REFUSAL))
    if version == "v3" and (found := ANSWER_PHRASE.search(text)) and found[1].upper() in letters:
        return Parsed(found[1].upper(), "answer phrase", found.span(1))
    return UNPARSED


def infer_option_text(text: str, options: Mapping[str, str], version: Version = "v3") -> Parsed:
    """Infer the only option whose text is contained in the response, case ignored.

    An empty option text is contained in every response.

    Args:
        text: The model's response.
        options: Option texts by upper-case letter.
        version: Dated behaviour of the framework; from v2 on a long response is not searched.

    Returns:
        The letter, or `UNPARSED` when none or several texts are contained.

    Raises:
        RowError: A key of `options` is no upper-case letter.

    Example:
        >>> infer_option_text("A DOG", {"A": "cat", "B": "dog"})
        Parsed(value='B', how='option text', span=(2, 5))
    """
    lowered = text.lower()
    if version != "v1" and len(lowered) > 2 * sum(map(len, options.values())):
        return UNPARSED
    for letter in options:
        if letter not in ascii_uppercase:
            raise RowError("option.letter", letter, f"expected an upper-case option letter {show(letter)}. Rename it.")
    contained = [letter for letter, option in options.items() if option.lower() in lowered]
    if len(contained) != 1:
        return UNPARSED
    needle = options[contained[0]].lower()
    start = lowered.find(needle)
    span = (start, start + len(needle)) if len(lowered) == len(text) else None
    return Parsed(contained[0], "option text", span)


def _find_word_span(cleaned: str, word: str) -> tuple[int, int]:
    if cleaned == word:
        return (0, len(word))
    found = _compile_word_pattern(word).search(cleaned)
    # The word came out of cleaned.split(), so it is there.
    return found.span() if found else (0, 0)


@cache
def _compile_word_pattern(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\S){re.escape(word)}(?!\S)")


PARSER = vlmevalkit_option
