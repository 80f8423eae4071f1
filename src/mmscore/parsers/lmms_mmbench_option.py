"""Read a choice letter as lmms-eval does for MMBench: a letter as a token, else an option's text."""

from collections.abc import Mapping, Sequence

from mmscore.core.parsed import UNPARSED, Parsed

# Source: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/mmbench/mmbench_evals.py
LETTERS = "ABCDE"
FORMS = ("{}.", "{},", "{}:", "{})", "{}).", "({})", "({}).", ":{}", ":{},", ":{}.", ":{})", ":{}).")
LONG_RESPONSE = 3
"""In a response of more words a lone A is taken for an article."""


def lmms_mmbench_option(text: str, options: Mapping[str, str]) -> Parsed:
    """Find the only letter that stands as a token, with some marks around it, else the only option's text.

    Args:
        text: The model's response.
        options: Option texts by letter; an absent option is the text `nan`, which is searched for as
            well. Letters are looked for from A to E, whether or not there is such an option.

    Returns:
        The letter, or `UNPARSED`.

    Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/mmbench/mmbench_evals.py:can_infer.

    Example:
        >>> lmms_mmbench_option("(B).", {"A": "cat", "B": "dog"}).value
        'B'
        >>> lmms_mmbench_option("a nice banana", {"A": "cat", "B": "nan"}).value
        'B'
    """
    words = text.split()
    found = _find_letter(text, words)
    if found is not None:
        return found
    lowered = text.lower()
    contained = [letter for letter, option in options.items() if option.lower() in lowered]
    if len(contained) != 1:
        return UNPARSED
    needle = options[contained[0]].lower()
    start = lowered.find(needle)
    return Parsed(contained[0], "option text", (start, start + len(needle)) if len(lowered) == len(text) else None)


def _find_letter(text: str, words: Sequence[str]) -> Parsed | None:
    for form in ("{}", *FORMS):
        found = [letter for letter in LETTERS if form.format(letter) in words]
        if len(found) == 1:
            if form == "{}" and "A" in words and len(words) > LONG_RESPONSE:
                return None
            start = text.find(form.format(found[0])) + form.index("{}")
            return Parsed(found[0], "letter token", (start, start + 1))
    return None


PARSER = lmms_mmbench_option
