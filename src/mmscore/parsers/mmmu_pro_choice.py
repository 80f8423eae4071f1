"""Read a choice letter as MMMU-Pro's evaluation script does."""

from collections.abc import Mapping, Sequence

from mmscore.core.parsed import Parsed
from mmscore.nlp.choice_letters import find_marked_choice

MARKER = "Answer:"


def mmmu_pro_choice(response: str, letters: Sequence[str], texts: Mapping[str, str]) -> Parsed:
    """Find the chosen letter after the last `Answer:`, else in the whole response.

    After `Answer:` exactly one of the letters must occur, inside words too. Else, over the whole
    reply: `(B)`, then `B ` (with any character before it), then `B.`, then an option's text.

    Args:
        response: The model's response.
        letters: Choice letters in option order.
        texts: Option texts by letter.

    Returns:
        The letter; `UNPARSED` where the script would draw one at random.

    Parity: MMMU-Benchmark/MMMU@bb0b95a mmmu-pro/evaluate.py:parse_multi_choice_response; among
    several `B ` or `B.` the last ` B ` decides, so that without any the first option wins.

    Example:
        >>> mmmu_pro_choice("A is tempting. Answer: C", "ABCD", {})
        Parsed(value='C', how='answer line', span=(23, 24))
        >>> mmmu_pro_choice("Made in the USA by hand", "ABCD", {}).value
        'A'
    """
    _, marker, tail = response.rpartition(MARKER)
    if marker:
        found = [letter for letter in letters if letter in tail]
        if len(found) == 1:
            start = len(response) - len(tail) + tail.find(found[0])
            return Parsed(found[0], "answer line", (start, start + len(found[0])))
    return find_marked_choice(response, letters, texts)


PARSER = mmmu_pro_choice
