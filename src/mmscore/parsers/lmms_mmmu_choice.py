"""Read a choice letter as lmms-eval does for MMMU and MMMU-Pro (standard)."""

from collections.abc import Mapping, Sequence

from mmscore.core.parsed import Parsed
from mmscore.nlp.choice_letters import find_marked_choice


def lmms_mmmu_choice(response: str, letters: Sequence[str], texts: Mapping[str, str]) -> Parsed:
    """Find the chosen letter: `(B)`, then `B `, then `B.`, then an option's text; the last wins.

    Args:
        response: The model's response.
        letters: Choice letters in option order.
        texts: Option texts by letter.

    Returns:
        The letter; `UNPARSED` where the framework would draw one at random.

    Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/_task_utils parse_multi_choice_response
    of the MMMU tasks; among several `B ` or `B.` the last ` B ` decides.

    Example:
        >>> lmms_mmmu_choice("B. dog", "AB", {"A": "cat", "B": "dog"})
        Parsed(value='B', how='letter and dot', span=(0, 1))
    """
    return find_marked_choice(response, letters, texts)


PARSER = lmms_mmmu_choice
