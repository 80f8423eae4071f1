"""Near images by pieces of their hashes, against a comparison of all with all."""

import numpy as np

from mmconvert.curation.near_images import ImageIndex


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
    assert [len(rows) for rows, _, _ in ImageIndex(bits, one).find_near(bits, other)] == [0]
    assert [len(rows) for rows, _, _ in ImageIndex(bits, one).find_near(bits, one)] == [1]


def test_nothing_is_near_in_an_empty_index() -> None:
    empty = np.empty(0, dtype=np.uint64), np.empty((0, 72), dtype=np.uint8)
    some = np.array([1], dtype=np.uint64), np.zeros((1, 72), dtype=np.uint8)
    assert list(ImageIndex(*empty).find_near(*some)) == []
    assert list(ImageIndex(*some).find_near(*empty)) == []
