"""Keys of texts: equal for texts that differ in case, spaces and punctuation, and sketches of their words.

A sketch holds 32-bit hashes of a text's words and of its pairs of neighbours: all of them up to 128, of a longer text
the 128 smallest, which are a fair sample (MinHash by the k smallest values). So the likeness of two questions, which is
the Jaccard index of their words and pairs, is exact, and that of long texts is estimated.
"""

import hashlib
import re
import unicodedata
from functools import lru_cache

import msgspec
import numpy as np
import numpy.typing as npt

KEY_BYTES = 16
SKETCHED = 128
"""Most hashes of a sketch."""
_CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(
    rf"\d+(?:[.,]\d+)*|[{_CJK}]|[^\W\d_{_CJK}]+|[+<>=*/^%°±×÷√∑∫≤≥≠≈$€£¥]|(?<=\d)\s*[-\u2212\u2013](?=\s*\d)|[-\u2212](?=\d)"
)
"""A number, a sign of Chinese or Japanese, a word, or a sign without which another calculation is meant."""
_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d]) (?=[^\W\d])")


class TextKeys(msgspec.Struct, frozen=True):
    """What is kept of a text.

    Attributes:
        key: 16 bytes, equal where the normalised texts are.
        words: Number of words.
        sketch: uint32 in ascending order, `SKETCHED` at most.
    """

    key: bytes
    words: int
    sketch: npt.NDArray[np.uint32]


def list_words(text: str) -> list[str]:
    """Give the words of a text: without case, punctuation, and differences of Unicode that nobody sees.

    Example:
        >>> list_words("  What’s 3 + 4.5? In the PHOTO!")
        ['what', 's', '3', '+', '4.5', 'in', 'the', 'photo']
        >>> list_words("pages 3-4")
        ['pages', '3', '-', '4']
    """
    return [word.strip() for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold())]


def build_keys(text: str) -> TextKeys:
    """Make the keys of a text.

    Example:
        >>> build_keys("A dog, outside").key == build_keys("a  DOG outside.").key
        True
        >>> build_keys("a dog").key == build_keys("a cat").key
        False
    """
    words = list_words(text)
    joined = _BETWEEN_LETTERS.sub("", " ".join(words))
    key = hashlib.blake2b(joined.encode(errors="surrogatepass"), digest_size=KEY_BYTES).digest()
    single = np.array([_hash_word(word) for word in words], dtype=np.uint64)
    # Multiplication wraps around, as it shall.
    pairs = _mix(single[:-1] * np.uint64(0x9E3779B97F4A7C15) + single[1:])
    features = np.unique((np.concatenate([single, pairs]) >> np.uint64(32)).astype(np.uint32))
    return TextKeys(key, len(words), features[:SKETCHED])


@lru_cache(maxsize=1 << 16)
def _hash_word(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(errors="surrogatepass"), digest_size=8).digest(), "little")


def _mix(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Spread values over all bits (the finaliser of SplitMix64, Steele and others 2014)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
