"""Keys of texts and near texts, against sets of words in plain Python."""

import random
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from mmconvert.curation.near_texts import Sketches, TextIndex, compare
from mmconvert.curation.text_keys import SKETCHED, build_keys, list_words
from support.planted_leaks import invent_words


@cache
def list_pieces(text: str) -> frozenset[str | tuple[str, str]]:
    return frozenset((*list_words(text), *pairwise(list_words(text))))


def measure_slowly(one: str, other: str) -> float:
    sides = [list_pieces(text) for text in (one, other)]
    return len(sides[0] & sides[1]) / len(sides[0] | sides[1])


def make_texts(draws: random.Random, count: int, most: int) -> list[str]:
    vocabulary = invent_words(draws, 60)
    texts = [" ".join(draws.choices(vocabulary, k=draws.randint(1, most))) for _ in range(count)]
    for text in texts[: count // 2]:
        words = text.split()
        words[draws.randrange(len(words))] = draws.choice(vocabulary)
        texts.append(" ".join(words))
    return texts


@pytest.mark.parametrize("least", [0.5, 0.7, 0.9])
def test_near_texts_are_those_of_a_slow_comparison(least: float) -> None:
    texts = make_texts(random.Random(2), 150, 30)
    sketches = Sketches.of([build_keys(text).sketch for text in texts])
    found = {
        (row, other): round(likeness, 9)
        for part in TextIndex(sketches, least).find_near(sketches)
        for row, other, likeness in zip(*(side.tolist() for side in part), strict=True)
    }
    slow = {
        (row, other): round(measure_slowly(one, two), 9)
        for row, one in enumerate(texts)
        for other, two in enumerate(texts)
        if measure_slowly(one, two) >= least - 1e-9
    }
    assert found == slow
    assert len(found) > len(texts)


def test_long_texts_are_compared_by_a_fair_sample() -> None:
    draws = random.Random(4)
    words = invent_words(draws, 2000)
    one, other = " ".join(words), " ".join([*words[:1700], *invent_words(draws, 300)])
    sketches = Sketches.of([build_keys(text).sketch for text in (one, other)])
    assert sketches.sizes.tolist() == [SKETCHED, SKETCHED]
    (likeness,) = compare(sketches, np.array([0]), sketches, np.array([1]))
    # Three standard errors of a sample of 128.
    assert likeness == pytest.approx(measure_slowly(one, other), abs=0.12)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("Is this  a DOG?", "is this a dog", True),
        ("What’s up", "what s up", True),
        ("ﬁne day", "Fine, day.", True),
        ("图中有什么？", "图中 有什么", True),
        ("3 + 4", "3 - 4", False),
        ("1.5 m", "15 m", False),
        ("1 5", "15", False),
        ("a dog", "a cat", False),
    ],
)
def test_keys_are_equal_where_case_spaces_and_punctuation_differ(one: str, other: str, equal: bool) -> None:
    assert (build_keys(one).key == build_keys(other).key) == equal


def test_a_text_without_words_has_none() -> None:
    assert build_keys(" ?! ").words == 0
