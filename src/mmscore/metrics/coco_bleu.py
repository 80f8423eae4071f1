"""BLEU-1 to 4 of captions as pycocoevalcap computes it: of the whole set, closest reference length."""

from collections.abc import Sequence

import numpy as np

from mmscore.nlp.caption_ngrams import ORDERS, Captions, Floats, Ngrams, look_up, read_captions, sum_by_index

TINY, SMALL = 1e-15, 1e-9
"""What is added to a number, and to the number that it is divided by."""


def coco_bleu(predictions: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    """Compute BLEU-1 to 4 of a set of captions.

    Args:
        predictions: One a row; words are what `str.split` gives.
        references: One or more a row.

    Returns:
        Four fractions; the k-th takes orders 1 to k together, and is not quite 0 without a match.

    Parity: salaniz/pycocoevalcap 1.2 bleu/bleu_scorer.py:BleuScorer.compute_score, option `closest`.

    Example:
        >>> [round(value, 3) for value in coco_bleu(["a red cat"], [["a red dog", "the cat"]])]
        [1.0, 0.707, 0.0, 0.0]
    """
    return compute_bleu(count_bleu(read_captions(predictions, references)))


def count_bleu(captions: Captions) -> Floats:
    """Count what BLEU needs of each row.

    Returns:
        One line a row: words of the prediction and of the reference closest in length (the shorter of
        two), then matched n-grams of orders 1 to 4, then n-grams of the prediction of orders 1 to 4.
    """
    rows = len(captions.lengths)
    matched = [_count_matches(grams, rows) for grams in captions.orders]
    guessed = [np.maximum(captions.lengths - order + 1, 0) for order in ORDERS]
    return np.stack([captions.lengths, _find_closest_lengths(captions), *matched, *guessed], axis=1).astype(np.float64)


def _count_matches(grams: Ngrams, rows: int) -> Floats:
    """Count the n-grams of each prediction, each as often as some reference of its row has it at most."""
    order = np.lexsort((grams.references.times, grams.references.key))
    keys, times = grams.references.key[order], grams.references.times[order]
    last = np.append(keys[1:] != keys[:-1], True)[: len(keys)]
    most = look_up(keys[last], times[last].astype(np.float64), grams.predictions.key)
    return sum_by_index(grams.predictions.sentence, np.minimum(grams.predictions.times, most), rows)


def _find_closest_lengths(captions: Captions) -> Floats:
    lengths, rows = captions.reference_lengths, captions.owners
    order = np.lexsort((lengths, np.abs(lengths - captions.lengths[rows]), rows))
    first = np.append(True, rows[order][1:] != rows[order][:-1])[: len(rows)]
    closest = np.zeros(len(captions.lengths))
    closest[rows[order][first]] = lengths[order][first]
    return closest


def compute_bleu(counts: Floats) -> list[float]:
    """Compute BLEU-1 to 4 of any rows.

    Args:
        counts: Their lines of `count_bleu`.

    Returns:
        As `coco_bleu`.
    """
    said, wanted, *numbers = counts.sum(axis=0).tolist()
    ratio = (said + TINY) / (wanted + SMALL)
    brevity = float(np.exp(1 - 1 / ratio)) if ratio < 1 else 1.0
    product, values = 1.0, []
    for order, matched, guessed in zip(ORDERS, numbers[: len(ORDERS)], numbers[len(ORDERS) :], strict=True):
        product *= (matched + TINY) / (guessed + SMALL)
        values.append(product ** (1 / order) * brevity)
    return values


METRIC = coco_bleu
