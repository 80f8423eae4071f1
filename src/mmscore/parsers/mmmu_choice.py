"""Read a choice letter as MMMU's own evaluation script does."""

from collections.abc import Mapping, Sequence
from random import Random

from mmconvert.core.errors import RowError
from mmscore.core.parsed import Parsed
from mmscore.nlp.choice_letters import find_last_marked, find_last_option_text, run_stages


def mmmu_choice(response: str, letters: Sequence[str], texts: Mapping[str, str]) -> Parsed:
    """Find the chosen letter: `(B)`, else ` B `, else an option's text; the last one wins.

    Marks are stripped from both ends first. A letter needs a blank on each side (a line break
    does not count), so `B.` inside a text, `**B**` and `B:` are not seen; option texts are
    searched in responses of more than five words only.

    Args:
        response: The model's response.
        letters: Choice letters in option order.
        texts: Option texts by letter.

    Returns:
        The letter; `UNPARSED` where the script would draw one at random, see `draw_choice`.

    Parity: MMMU-Benchmark/MMMU@bb0b95a mmmu/utils/eval_utils.py:parse_multi_choice_response.

    Example:
        >>> mmmu_choice("The answer is (B).", "AB", {"A": "cat", "B": "dog"})
        Parsed(value='B', how='bracketed letter', span=(15, 16))
        >>> mmmu_choice("**B**", "AB", {"A": "cat", "B": "dog"}).how
        'unparsed'
    """
    return run_stages(
        response,
        (
            lambda padded: find_last_marked(padded, letters, "({})", "bracketed letter"),
            lambda padded: find_last_marked(padded, letters, " {} ", "lone letter"),
            lambda padded: find_last_option_text(padded, texts),
        ),
    )


def draw_choice(letters: Sequence[str], rng: Random) -> str:
    """Draw the letter that the script gives to a response without a readable choice.

    The script seeds its generator once and draws one letter for each such response, in file order.

    Args:
        letters: Choice letters in option order.
        rng: Generator shared by all responses of a run; the script's seed is 42.

    Returns:
        One of the letters.

    Raises:
        RowError: There are no letters.

    Example:
        >>> rng = Random(42)
        >>> [draw_choice("ABCD", rng) for _ in range(4)]
        ['A', 'A', 'C', 'B']
    """
    if not letters:
        raise RowError("options.missing", "options", "no choice letter to draw from. Give the row its options.")
    return rng.choice(letters)


PARSER = mmmu_choice
