"""Read yes or no as VLMEvalKit does."""

from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.nlp.vqa_normalize import process_punctuation


def vlmevalkit_yes_no(text: str) -> Parsed:
    """Find the word yes or no, if the response holds just one of them.

    Some marks are taken off first (see `process_punctuation`); `*` and `:` stay, so `**No**` and
    `Answer:No` hold neither word.

    Args:
        text: The model's response.

    Returns:
        "Yes" or "No"; `UNPARSED` (the framework's "Unknown") when both or neither occur.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/yorn.py:YOrN_Extraction.

    Example:
        >>> vlmevalkit_yes_no("Yes, there is.").value, vlmevalkit_yes_no("Yes or no?").how
        ('Yes', 'unparsed')
    """
    lowered = text.lower()
    words = process_punctuation(lowered).split()
    yes, no = "yes" in words, "no" in words
    if yes == no:
        return UNPARSED
    word = "yes" if yes else "no"
    start = lowered.find(word)
    # Rewriting may join letters across a mark ("y-es"), and lower-casing may change the length.
    known = start >= 0 and lowered.count(word) == 1 and len(lowered) == len(text)
    return Parsed(word.capitalize(), "yes or no", (start, start + len(word)) if known else None)


PARSER = vlmevalkit_yes_no
