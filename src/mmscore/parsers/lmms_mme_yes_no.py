"""Read yes or no as lmms-eval does for MME: the whole response, a single letter, or the first four characters."""

from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.nlp.yes_no import parse_yes_no_start

LETTERS = {"y": "yes", "n": "no"}


def lmms_mme_yes_no(text: str) -> Parsed:
    """Find yes or no; case, outer blanks and all dots do not count.

    Args:
        text: The model's response.

    Returns:
        `yes` or `no`; `UNPARSED`, the framework's "other", for neither.

    Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/mme/utils.py:parse_pred_ans.

    Example:
        >>> lmms_mme_yes_no(" Y.").value, lmms_mme_yes_no("Nope").value, lmms_mme_yes_no("I see yes").how
        ('yes', 'no', 'unparsed')
    """
    plain = text.lower().strip().replace(".", "")
    if plain in LETTERS.values():
        return Parsed(plain, "whole response")
    if plain in LETTERS:
        return Parsed(LETTERS[plain], "single letter")
    found = parse_yes_no_start(plain)
    # Dots may stand before the word or inside it, so that its place in the response is not known.
    return UNPARSED if found.value is None else Parsed(found.value, found.how)


PARSER = lmms_mme_yes_no
