"""Near images by pieces of their hashes, against a comparison of all with all."""

import random
from collections.abc import Sequence

import numpy as np
import pytest

from mmconvert.curation.near_images import CLOSE_BITS, LEAST_CLOSE_SHAPE, LEAST_LIKENESS, LEAST_SHAPE, ImageIndex
from mmconvert.curation.perceptual import hash_image, measure_likeness, unpack_sketches
from support.planted_leaks import CHANGES, KINDS, draw_size, encode

_BY_FREQUENCY = sorted(range(64), key=lambda place: (place // 8 + place % 8, place))


def test_every_pair_up_to_eleven_bits_is_found() -> None:
    draws = np.random.default_rng(3)
    known = draws.integers(0, 1 << 63, 300, dtype=np.uint64)
    # Copies with up to 12 bits turned over, anywhere.
    asked = known.copy()
    for place in range(len(asked)):
        for bit in draws.choice(64, place % 13, replace=False):
            asked[place] ^= np.uint64(1 << int(bit))
    sketches = draws.integers(0, 256, (1, 72)).astype(np.uint8).repeat(300, axis=0)
    index = ImageIndex(known, sketches)
    for limit in (0, 4, 11):
        slow = {
            (row, other): (int(one) ^ int(two)).bit_count()
            for row, one in enumerate(asked)
            for other, two in enumerate(known)
            if (int(one) ^ int(two)).bit_count() <= limit
        }
        found = {
            (row, other): distance
            for part in index.find_near(asked, sketches, limit)
            for row, other, distance in zip(*(side.tolist() for side in part), strict=True)
        }
        assert found == slow
        assert len(found) >= 20


def test_near_bits_with_other_sketches_are_no_pair() -> None:
    bits = np.array([5], dtype=np.uint64)
    draws = np.random.default_rng(0)
    one, other = draws.integers(0, 256, (2, 1, 72)).astype(np.uint8)
    assert not list(ImageIndex(bits, one).find_near(bits, other))
    assert [len(rows) for rows, _, _ in ImageIndex(bits, one).find_near(bits, one)] == [1]


def test_nothing_is_near_in_an_empty_index() -> None:
    empty = np.empty(0, dtype=np.uint64), np.empty((0, 72), dtype=np.uint8)
    some = np.array([1], dtype=np.uint64), np.zeros((1, 72), dtype=np.uint8)
    assert list(ImageIndex(*empty).find_near(*some)) == []
    assert list(ImageIndex(*some).find_near(*empty)) == []


PIECES = [sum(1 << 63 - place for place in _BY_FREQUENCY[start : start + 16]) for start in range(0, 64, 16)]


def find_slowly(asked: Sequence, known: Sequence, most_bits: int) -> dict[tuple[int, int], int]:
    """The rule, pair by pair: a piece of 16 bits that differs in two at most, few bits, and sketches that are alike."""
    found = {}
    for row, (one, sketch) in enumerate(zip(*asked, strict=True)):
        for other, (two, drawn) in enumerate(zip(*known, strict=True)):
            apart = int(one) ^ int(two)
            if apart.bit_count() > most_bits or min((apart & piece).bit_count() for piece in PIECES) > 2:
                continue
            likeness, shape = measure_likeness(unpack_sketches(sketch[None]), unpack_sketches(drawn[None]))
            least = LEAST_CLOSE_SHAPE if apart.bit_count() <= CLOSE_BITS else LEAST_SHAPE
            if likeness[0] >= LEAST_LIKENESS and shape[0] >= least:
                found[row, other] = apart.bit_count()
    return found


@pytest.fixture(scope="module")
def drawn_hashes():
    """Bits and sketches of images of all kinds, each followed by its altered copies."""
    draws = random.Random(8)
    hashed = []
    for draw in KINDS.values():
        for _ in range(5):
            picture = draw(draws, draw_size(draws))
            hashed += map(hash_image, [encode(picture), *(alter(picture) for alter in CHANGES.values())])
    return np.concatenate([one.bits for one in hashed]), np.concatenate([one.sketches for one in hashed])


@pytest.mark.parametrize("most_bits", [0, 6, 22, 64])
@pytest.mark.parametrize("count", [7, 135])
def test_pairs_are_those_of_a_comparison_of_all_with_all(drawn_hashes, most_bits, count, monkeypatch):
    draws = np.random.default_rng(most_bits)
    rows = draws.permutation(len(drawn_hashes[0]))
    known, asked = ([side[some] for side in drawn_hashes] for some in (rows[:150], rows[150 : 150 + count]))
    slow = find_slowly(asked, known, most_bits)
    assert len(slow) >= (0 if most_bits == 0 or count < 100 else 30)
    index = ImageIndex(*known)
    # However many are looked up, compared or laid out at a time, and however many bits of a piece they share.
    for at_once, pairs, laid_out, beginning, workers in (
        (1 << 18, 1 << 22, 4096, 2, 1),
        (50, 90, 70, 5, 3),
        (9, 1, 1, 16, 2),
    ):
        monkeypatch.setattr("mmconvert.curation.near_images.ASKED_AT_ONCE", at_once)
        monkeypatch.setattr("mmconvert.curation.near_images._MOST_PAIRS", pairs)
        monkeypatch.setattr("mmconvert.curation.near_images._LAID_OUT", laid_out)
        monkeypatch.setattr("mmconvert.curation.near_images._choose_beginning", lambda *_, chosen=beginning: chosen)
        found = [
            ((row, other), distance)
            for part in index.find_near(*asked, most_bits, workers)
            for row, other, distance in zip(*(side.tolist() for side in part), strict=True)
        ]
        assert len(found) == len(slow)
        assert dict(found) == slow
