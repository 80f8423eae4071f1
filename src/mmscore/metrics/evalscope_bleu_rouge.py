"""BLEU-1 to 4 and ROUGE-1, 2, L of one pair of texts, as EvalScope's general_vqa scores them."""

import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

from mmconvert.core.errors import RowError, show
from mmscore.nlp.edit_distance import compute_lcs_length
from mmscore.nlp.evalscope_tokens import has_chinese, split_chinese_words, split_english_words

Version = Literal["1.3.0", "1.10.0", "1.14.1"]

ORDERS = (1, 2, 3, 4)

# Source: rouge-chinese 1.0.3 rouge_chinese/rouge.py:cut_sent; each inserts a line break before group 2
LINE_BREAKS = tuple(
    re.compile(pattern)
    for pattern in (r"([。！？?])([^”’])", r"(\.{6})([^”’])", r"(…{2})([^”’])", r"([。！？?][”’])([^，。！？?])")
)
BREAKING = re.compile(r"[。！？?…\n]|\.{6}")


def evalscope_bleu_rouge(
    prediction: str | None, reference: str | None, version: Version = "1.14.1"
) -> dict[str, float] | None:
    """Score one prediction against one reference.

    Args:
        prediction: The response, its closed reasoning block cut out.
        reference: The reference; several are joined beforehand.
        version: Release whose behaviour is wanted: until 1.10 a blank side gives no ROUGE keys, so
            that the row is left out of their means; since 1.14 they are 0.

    Returns:
        Fractions 0-1 under `bleu-1` to `bleu-4`, `Rouge-1-R`, `-P`, `-F`, `Rouge-2-*`, `Rouge-L-*`,
        in this order; None where the release gives the row no score: until 1.10 without two texts.

    Raises:
        RowError: Since 1.14, a side is not a text.

    Parity: modelscope/evalscope 1.3.0, 1.10.0, 1.14.1 metrics BLEU and Rouge, with nltk 3.10.4,
    jieba 0.42.1, rouge-chinese 1.0.3. Kept on purpose: BLEU-n is the precision of the one order n
    (not cumulative) and about 2.2e-308 where it is zero; words keep case and marks in ROUGE;
    ROUGE-1 and 2 count distinct n-grams; each side has its own cutter.

    Example:
        >>> scores = evalscope_bleu_rouge("a red car", "a red bus")
        >>> round(scores["bleu-1"], 4), round(scores["Rouge-L-F"], 4)
        (0.6667, 0.6667)
        >>> list(evalscope_bleu_rouge("", "a red bus", "1.3.0"))
        ['bleu-1', 'bleu-2', 'bleu-3', 'bleu-4']
    """
    if prediction is None or reference is None:
        if version != "1.14.1":
            return None
        raise RowError(
            "text.missing",
            "prediction" if prediction is None else "answer",
            f"BLEU and ROUGE need two texts {show(None)}. Leave the row out, or give it an empty text.",
        )
    predicted, predicted_line = _tokenize(prediction)
    wanted, wanted_line = _tokenize(reference)
    scores = {f"bleu-{n}": value for n, value in zip(ORDERS, compute_bleu_by_order(predicted, wanted), strict=True)}
    predicted, wanted = split_rouge_words(predicted_line), split_rouge_words(wanted_line)
    if predicted and wanted:
        scores |= compute_rouge(predicted, wanted)
    elif version == "1.14.1":
        scores |= {f"Rouge-{kind}-{part}": 0.0 for kind in "12L" for part in "RPF"}
    return scores


def _tokenize(text: str) -> tuple[list[str], str]:
    """Cut a text for BLEU, and give the text that ROUGE splits at blanks."""
    if has_chinese(text):
        words = split_chinese_words(text)
        return words, " ".join(words)
    return split_english_words(text), text


def compute_bleu_by_order(prediction: Sequence[str], reference: Sequence[str]) -> tuple[float, float, float, float]:
    """Compute BLEU of each single order 1 to 4: clipped precision times brevity penalty.

    Args:
        prediction: Words of the prediction.
        reference: Words of the reference.

    Returns:
        Fractions 0-1 for n = 1, 2, 3, 4; all 0 when no word is shared; a precision of zero counts
        as the smallest normal float.

    Parity: nltk 3.10.4 sentence_bleu with one-hot weights, no smoothing.

    Example:
        >>> compute_bleu_by_order(["a", "red", "car"], ["a", "red", "bus"])[:2]
        (0.6666666666666666, 0.5)
    """
    matches = [0, 0, 0, 0]
    for n in ORDERS:
        matches[n - 1] = _count_clipped(_count_ngrams(prediction, n), _count_ngrams(reference, n))
        if not matches[n - 1]:
            break  # no shared n-gram, so no longer one either
    if not matches[0]:
        return 0.0, 0.0, 0.0, 0.0
    length, wanted = len(prediction), len(reference)
    penalty = 1.0 if length > wanted else math.exp(1 - wanted / length)

    def score(n: int) -> float:
        precision = matches[n - 1] / max(1, length - n + 1) or sys.float_info.min
        # exp(log(x)) is not x: the last digits are part of the parity.
        return penalty * math.exp(math.log(precision))

    return score(1), score(2), score(3), score(4)


def _count_ngrams(words: Sequence[str], n: int) -> "Counter[object]":
    return Counter(words) if n == 1 else Counter(zip(*(words[start:] for start in range(n)), strict=False))


def _count_clipped(prediction: "Counter[object]", reference: "Counter[object]") -> int:
    shared = prediction.keys() & reference.keys()
    return sum(min(prediction[ngram], reference[ngram]) for ngram in shared)


def split_rouge_words(line: str) -> list[str]:
    """Split a text into the words that ROUGE compares.

    The text is first broken into lines after sentence marks; a line of blanks between others
    counts as one empty word.

    Returns:
        The words, case and marks kept; [] for a blank text.

    Parity: rouge-chinese 1.0.3 Rouge.cut_sent and its callers.

    Example:
        >>> split_rouge_words("Really?Yes, a Dog."), split_rouge_words(" ")
        (['Really?', 'Yes,', 'a', 'Dog.'], [])
    """
    if not BREAKING.search(line):
        return line.split()
    for pattern in LINE_BREAKS:
        line = pattern.sub("\\1\n\\2", line)
    return [word for part in line.rstrip().split("\n") if part for word in part.split() or [""]]


def compute_rouge(prediction: Sequence[str], reference: Sequence[str]) -> dict[str, float]:
    """Compute ROUGE-1, 2 and L of two lists of words.

    Args:
        prediction: Words of the prediction, at least one.
        reference: Words of the reference, at least one.

    Returns:
        Recall, precision and F (fractions 0-1) of each kind; F of a perfect match is 0.999999995.

    Parity: rouge-chinese 1.0.3 Rouge.get_scores.

    Example:
        >>> compute_rouge(["a", "b"], ["a", "b", "c", "d"])["Rouge-L-R"]
        0.5
    """
    scores: dict[str, float] = {}
    kinds: tuple[tuple[str, Callable[[Sequence[str]], set[object]]], ...] = (
        ("1", set),
        ("2", lambda words: set(pairwise(words))),
    )
    for kind, distinct in kinds:
        predicted, wanted = distinct(prediction), distinct(reference)
        scores |= _recall_precision_f(kind, len(predicted & wanted), len(wanted), len(predicted))
    return scores | _recall_precision_f("L", compute_lcs_length(prediction, reference), len(reference), len(prediction))


def _recall_precision_f(kind: str, shared: int, wanted: int, predicted: int) -> dict[str, float]:
    recall = shared / wanted if wanted else 0.0
    precision = shared / predicted if predicted else 0.0
    f = 2.0 * ((precision * recall) / (precision + recall + 1e-8))
    return {f"Rouge-{kind}-R": recall, f"Rouge-{kind}-P": precision, f"Rouge-{kind}-F": f}


METRIC = evalscope_bleu_rouge
