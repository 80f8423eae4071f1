"""N-grams of many captions at once, counted as arrays: what BLEU and CIDEr are made of.

Words are what `str.split` gives: no case folding, no marks taken off.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, count
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

ORDERS = (1, 2, 3, 4)


class NgramCounts(msgspec.Struct, frozen=True):
    """How often sentences have n-grams: one entry for each n-gram of each sentence.

    Attributes:
        sentence: Sentence of the entry, among the predictions or among the references.
        key: Row and n-gram of the entry in one number: `row * vocabulary + gram`.
        times: How often the sentence has the n-gram.
    """

    sentence: Integers
    key: Integers
    times: Integers


class Ngrams(msgspec.Struct, frozen=True):
    """All n-grams of one order.

    Attributes:
        vocabulary: How many distinct ones there are; they are numbered from 0.
        predictions: Those of the predictions, keys ascending.
        references: Those of the references, sentence by sentence.
    """

    vocabulary: int
    predictions: NgramCounts
    references: NgramCounts


class Captions(msgspec.Struct, frozen=True):
    """Predictions and references, counted.

    Attributes:
        lengths: Words of each prediction.
        reference_lengths: Words of each reference, row after row.
        owners: Row of each reference.
        orders: N-grams of orders 1 to 4.
    """

    lengths: Integers
    reference_lengths: Integers
    owners: Integers
    orders: tuple[Ngrams, ...]


def read_captions(predictions: Sequence[str], references: Sequence[Sequence[str]]) -> Captions:
    """Split captions into words and count their n-grams.

    Args:
        predictions: One a row.
        references: One list a row.

    Example:
        >>> captions = read_captions(["a b"], [["b", "c a"]])
        >>> captions.reference_lengths.tolist(), [grams.vocabulary for grams in captions.orders]
        ([1, 2], [3, 2, 1, 1])
    """
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    sentences = [text.split() for text in chain(predictions, chain.from_iterable(references))]
    words = np.array([numbers[word] for word in chain.from_iterable(sentences)], np.int64)
    lengths = np.array(list(map(len, sentences)), np.int64)
    rows = np.arange(len(predictions))
    owners = np.repeat(rows, np.array(list(map(len, references)), np.int64))
    orders = tuple(_count_orders(words, lengths, np.concatenate([rows, owners]), len(rows)))
    return Captions(lengths[: len(rows)], lengths[len(rows) :], owners, orders)


def _count_orders(words: Integers, lengths: Integers, rows: Integers, predictions: int) -> Iterator[Ngrams]:
    place, size = np.repeat(np.arange(len(lengths)), lengths), int(words.max(initial=0)) + 1
    # gram[i] is the n-gram that begins at word i; `begins` are the words at which one does.
    gram, begins, vocabulary = words, np.arange(len(words)), size
    for order in ORDERS:
        if order > 1:
            begins = begins[begins + order - 1 < len(words)]
            begins = begins[place[begins] == place[begins + order - 1]]
            known, numbers = np.unique(gram[begins] * size + words[begins + order - 1], return_inverse=True)
            vocabulary = max(len(known), 1)
            gram = np.zeros(len(words), np.int64)
            gram[begins] = numbers
        entries, times = np.unique(place[begins] * vocabulary + gram[begins], return_counts=True)
        sentence = entries // vocabulary
        key = rows[sentence] * vocabulary + entries % vocabulary
        cut = int(np.searchsorted(sentence, predictions))
        said = NgramCounts(sentence[:cut], key[:cut], times[:cut])
        yield Ngrams(vocabulary, said, NgramCounts(sentence[cut:] - predictions, key[cut:], times[cut:]))


def look_up(keys: Integers, values: Floats, wanted: Integers) -> Floats:
    """Find the values of keys, 0 for a key that is not there.

    Args:
        keys: Ascending, each once.
        values: One a key.
        wanted: Keys to find.

    Example:
        >>> look_up(np.array([2, 5]), np.array([0.5, 1.5]), np.array([5, 3, 9])).tolist()
        [1.5, 0.0, 0.0]
    """
    if not len(keys):
        return np.zeros(len(wanted))
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, values[at], 0.0)


def sum_by_index(index: Integers, values: npt.NDArray[Any], count: int) -> Floats:
    """Add up values by index.

    Example:
        >>> sum_by_index(np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 3).tolist()
        [4.0, 0.0, 2.0]
    """
    return np.bincount(index, values, count).astype(np.float64)
