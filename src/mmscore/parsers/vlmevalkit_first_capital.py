"""Read a choice letter as VLMEvalKit does for MME-RealWorld and TreeBench: the first capital A to E."""

import re

from mmscore.core.parsed import UNPARSED, Parsed

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/multiple_choice.py:extract_characters_regex
PHRASES = (
    "The best answer is", "The correct answer is", "The answer is", "The answer", "The best option is",
    "The correct option is", "Best answer:", "Best option:",
)  # fmt: skip
LETTERS = "ABCDE"
CAPITAL = re.compile(f"[{LETTERS}]")
OPENING, CLOSING = "<answer>", "</answer>"


def vlmevalkit_first_capital(text: str) -> Parsed:
    """Find the first capital A to E behind fixed phrases, of the text in `<answer>` tags where there are some.

    What is left of a response without such a capital is compared with `(a)` to `(e)`: the first of them that contains
    it is taken. A response of which nothing is left is therefore an A.

    Args:
        text: The model's response.

    Returns:
        The letter; `UNPARSED` where there is none.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_mcq.py:MMERealWorld.evaluate,
    vlmeval/dataset/utils/multiple_choice.py:extract_characters_regex.

    Example:
        >>> [vlmevalkit_first_capital(text).value for text in ("The best answer is C.", "<answer>b</answer>")]
        ['C', 'B']
        >>> [vlmevalkit_first_capital(text).value for text in ("The answer is", "none of them")]
        ['A', None]
    """
    rest = _read_tagged(text).strip()
    for phrase in PHRASES:
        rest = rest.replace(phrase, "")
    if found := CAPITAL.search(rest):
        return Parsed(found[0], "first capital")
    if len(rest.split()) <= 10:
        for letter in LETTERS:
            if rest.lower() in f"({letter.lower()})":
                return Parsed(letter, "part of an option's label")
    return UNPARSED


def _read_tagged(text: str) -> str:
    _, opening, rest = text.partition(OPENING)
    inner, closing, _ = rest.partition(CLOSING)
    return inner.strip().upper() if opening and closing else text


PARSER = vlmevalkit_first_capital
