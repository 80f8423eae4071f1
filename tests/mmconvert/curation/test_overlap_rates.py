"""The shares of docs/overlap.md, on fewer images."""

import pytest

from support.overlap_rates import REPORTED_SEED, draw_pictures, measure_images, measure_texts

SURE = ("JPEG, quality 75", "half size", "recoloured a little")
CUT = ("2.5 % cut off each side", "5 % cut off each side")


@pytest.mark.release
def test_altered_images_are_found_and_few_others_are_named(tmp_path):
    rates = measure_images(draw_pictures(600, REPORTED_SEED), REPORTED_SEED, tmp_path)
    for (kind, change), share in rates.found.items():
        assert share >= {**dict.fromkeys(SURE, 0.99), **dict.fromkeys(CUT, 0.95)}.get(change, 0), (kind, change)
    assert max(rates.false.values()) < 0.01


def test_altered_questions_are_found_and_few_others_are_named(tmp_path):
    rates = measure_texts(200, REPORTED_SEED, tmp_path)
    for (_, change), share in rates.found.items():
        assert share >= (0 if change.startswith("words in another order") else 0.95), change
    assert max(rates.false.values()) < 0.01
