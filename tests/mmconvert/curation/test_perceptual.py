"""Hashes of images: the bits of ImageHash, and what altered copies keep."""

import random
from io import BytesIO

import numpy as np
import PIL.Image
import pytest
import scipy.fft

from mmconvert.core.errors import RowError
from mmconvert.curation.near_images import LEAST_LIKENESS
from mmconvert.curation.perceptual import hash_image, measure_likeness, unpack_sketches
from support.planted_leaks import CHANGES, KINDS, draw_size, encode


def hash_slowly(data: bytes) -> int:
    """ImageHash 4.3.2's `phash`, step by step."""
    grey = PIL.Image.open(BytesIO(data)).convert("L").resize((32, 32), PIL.Image.Resampling.LANCZOS)
    pixels = np.asarray(grey)
    low = scipy.fft.dct(scipy.fft.dct(pixels.astype(float), axis=0), axis=1)[:8, :8]
    bits = (low > np.median(low)).ravel()
    return int("".join("1" if bit else "0" for bit in bits), 2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["PNG", "JPEG"])
def test_bits_of_the_whole_image_are_those_of_imagehash(kind: str, form: str) -> None:
    draws = random.Random(f"{kind} {form}")
    for _ in range(10):
        # A larger JPEG is decoded at a part of its size.
        size = draw_size(draws) if form == "PNG" else (draws.randint(100, 256), draws.randint(100, 256))
        data = encode(KINDS[kind](draws, size), form)
        hashes = hash_image(data)
        assert hashes is not None
        assert int(hashes.bits[0]) == hash_slowly(data)


@pytest.mark.parametrize("kind", KINDS)
def test_altered_copies_stay_alike_and_others_do_not(kind: str) -> None:
    draws = random.Random(1)
    pictures = [KINDS[kind](draws, draw_size(draws)) for _ in range(8)]
    hashed = [hash_image(encode(picture, "PNG")) for picture in pictures]
    for change in ("JPEG, quality 75", "half size", "2.5 % cut off each side"):
        for number, picture in enumerate(pictures):
            altered = hash_image(CHANGES[change](picture))
            assert altered is not None
            for other, hashes in enumerate(hashed):
                assert hashes is not None
                sides = np.repeat(altered.sketches[:1], 3, axis=0), hashes.sketches
                likeness, _ = measure_likeness(*map(unpack_sketches, sides))
                assert (likeness.max() >= LEAST_LIKENESS) == (number == other)


def test_an_image_of_one_colour_has_no_hash() -> None:
    assert hash_image(encode(PIL.Image.new("RGB", (50, 40), "gray"), "PNG")) is None


def test_a_damaged_image_is_refused() -> None:
    whole = encode(PIL.Image.effect_noise((64, 64), 80), "PNG")
    with pytest.raises(RowError, match="cannot be decoded"):
        hash_image(whole[: len(whole) // 2])
