"""Read a choice letter as VLMEvalKit does for VMCBench."""

from collections.abc import Mapping, Sequence

from mmscore.core.parsed import Parsed
from mmscore.nlp.choice_letters import find_last_marked, find_last_option_text, run_stages


def vlmevalkit_vmc_choice(response: str, letters: Sequence[str], texts: Mapping[str, str]) -> Parsed:
    """Find the chosen letter: the last `(B)`, else the first option with a `B. `, else the last ` B `, else a text.

    Args:
        response: The model's response.
        letters: Choice letters in option order.
        texts: Option texts by letter.

    Returns:
        The letter; `UNPARSED` where the framework draws one at random.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/vmcbench.py:parse_multi_choice_response; among
    several `B. ` the last `(B)` decides, so that without any the first option wins.

    Example:
        >>> [vlmevalkit_vmc_choice(text, "AB", {}).value for text in ("B. it is, not A. by far", "**B**")]
        ['A', None]
    """
    return run_stages(
        response,
        (
            lambda padded: find_last_marked(padded, letters, "({})", "bracketed letter"),
            lambda padded: find_last_marked(padded, letters, "{}. ", "letter and dot", rank="({})"),
            lambda padded: find_last_marked(padded, letters, " {} ", "lone letter"),
            lambda padded: find_last_option_text(padded, texts),
        ),
    )


PARSER = vlmevalkit_vmc_choice
