"""CIDEr-D of captions as pycocoevalcap computes it, with the references themselves as the corpus."""

from collections.abc import Sequence

import numpy as np

from mmconvert.core.errors import Error
from mmscore.nlp.caption_ngrams import ORDERS, Captions, Floats, Integers, Ngrams, look_up, read_captions, sum_by_index

SIGMA = 6.0
"""Width of the penalty on a difference in length."""

SCALE = 10.0


def coco_cider(predictions: Sequence[str], references: Sequence[Sequence[str]]) -> Floats:
    """Compute CIDEr-D of each caption of a set.

    Args:
        predictions: One a row; words are what `str.split` gives.
        references: One or more a row.

    Returns:
        One number a row, 0-10; a set of one row has 0. The set's CIDEr is their mean.

    Raises:
        Error: No reference has a word.

    Parity: salaniz/pycocoevalcap 1.2 cider/cider_scorer.py:CiderScorer.compute_score.

    Example:
        >>> coco_cider(["a cat", "two dogs"], [["a cat"], ["a dog"]]).round(3).tolist()
        [5.0, 0.0]
    """
    return compute_cider(read_captions(predictions, references))


def compute_cider(captions: Captions) -> Floats:
    """Compute CIDEr-D of captions that are read already; see `coco_cider`."""
    rows, owners = len(captions.lengths), captions.owners
    if not captions.reference_lengths.any():
        raise Error("answers: no reference has a word, and CIDEr weighs the words of references. Give captions.")
    # The framework compares lengths in bigrams, of which an empty caption has as many as one of a single word.
    said, wanted = (np.maximum(lengths - 1, 0) for lengths in (captions.lengths[owners], captions.reference_lengths))
    similarity = np.zeros(len(owners))
    for grams in captions.orders:
        similarity += _compute_similarity(grams, rows, owners)
    similarity *= np.exp(-((said - wanted) ** 2) / (2 * SIGMA**2))
    mean: Floats = SCALE / len(ORDERS) * sum_by_index(owners, similarity, rows) / np.bincount(owners, minlength=rows)
    return mean


def _compute_similarity(grams: Ngrams, rows: int, owners: Integers) -> Floats:
    """Compare each reference with the prediction of its row: a cosine in which the prediction's weights are clipped."""
    said, wanted = grams.predictions, grams.references
    known = np.bincount(np.unique(wanted.key) % grams.vocabulary, minlength=grams.vocabulary)
    rarity = np.log(rows) - np.log(np.maximum(known, 1))
    said_weights = said.times * rarity[said.key % grams.vocabulary]
    weights = wanted.times * rarity[wanted.key % grams.vocabulary]
    clipped = np.minimum(look_up(said.key, said_weights, wanted.key), weights)
    products = sum_by_index(wanted.sentence, clipped * weights, len(owners))
    norms = np.sqrt(sum_by_index(said.sentence, said_weights**2, rows))[owners]
    norms *= np.sqrt(sum_by_index(wanted.sentence, weights**2, len(owners)))
    cosine: Floats = np.divide(products, norms, out=products, where=norms > 0)
    return cosine


METRIC = coco_cider
