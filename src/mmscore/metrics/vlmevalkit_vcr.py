"""Score covered text (VCR) as VLMEvalKit does: the run of words in the response that is most like the covered ones."""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

import msgspec

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/vcr.py
REFUSALS = ("I can't", "I cannot", "无法", "抱歉")
REFUSAL_IN_ANY_CASE = "sorry"
SPEAKER = "Assistant: "
JOINERS: Mapping[str, str] = {"en": " ", "zh": ""}
"""What stands between words when they are put together again, by language."""


class Found(msgspec.Struct, frozen=True):
    """What was found for one covered text.

    Attributes:
        text: The run of words, empty where there is none.
        likeness: Its likeness to the covered text, 0-1.
        precision: Share of its distinct words that are covered ones.
        recall: Share of the distinct covered words that it has.
        jaccard: Words in both of those in either.
        exact: Whether the words are the covered ones, in their order.
    """

    text: str = ""
    likeness: float = 0.0
    precision: float = 0.0
    recall: float = 0.0
    jaccard: float = 0.0
    exact: bool = False

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, 0 where both are."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def vlmevalkit_vcr(words: Sequence[str], covered: str, covered_words: Sequence[str], joiner: str = " ") -> Found:
    """Find the run of words that is most like a covered text, the first of equals.

    Args:
        words: Words of the response.
        covered: The covered text as the table has it.
        covered_words: Its words; a run has as many, and shares one of them at least.
        joiner: What stands between words of a run when it is compared; see `JOINERS`.

    Returns:
        The run and how it compares; nothing where the response is shorter than the covered text.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/vcr.py:VCRDataset.

    Example:
        >>> found = vlmevalkit_vcr(["U.S.", "troops", "laft", "at"], "left at", ["left", "at"])
        >>> found.text, round(found.likeness, 3), found.recall, found.exact
        ('laft at', 0.857, 0.5, False)
    """
    length, wanted = len(covered_words), set(covered_words)
    matcher = SequenceMatcher(None, "", covered)
    best, likeness = -1, 0.0
    for start in range(len(words) - length + 1):
        run = words[start : start + length]
        if wanted.isdisjoint(run):
            continue
        matcher.set_seq1(joiner.join(run))
        # The quick ratio is never below the true one, which takes much longer.
        if matcher.quick_ratio() > likeness and (ratio := matcher.ratio()) > likeness:
            best, likeness = start, ratio
    if best < 0:
        return Found()
    run = words[best : best + length]
    shared, said = len(wanted.intersection(run)), set(run)
    precision, recall, jaccard = (shared / len(words) for words in (said, wanted, wanted | said))
    return Found(joiner.join(run), likeness, precision, recall, jaccard, list(run) == list(covered_words))


def read_assistant_text(reply: str) -> str:
    """Give what stands behind the last `Assistant: `.

    Example:
        >>> read_assistant_text("USER: x Assistant: he said")
        'he said'
    """
    return reply.rpartition(SPEAKER)[2]


def refuses(text: str) -> bool:
    """Tell whether a response excuses itself, which scores 0 whatever else it says.

    Example:
        >>> refuses("SORRY, U.S. troops"), refuses("U.S. troops")
        (True, False)
    """
    return REFUSAL_IN_ANY_CASE in text.lower() or any(refusal in text for refusal in REFUSALS)


METRIC = vlmevalkit_vcr
