"""The words of numbers that VLMEvalKit's rules know: zero to twenty, each alone."""

import pytest

from mmconvert.plugins.registry import load

WORDS = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
]  # fmt: skip


@pytest.mark.parametrize("name", ["vlmevalkit_count", "vlmevalkit_spatial_number"])
def test_the_words_zero_to_twenty_are_numbers(name):
    parse = load("mmscore.parsers", name)
    for number, word in enumerate(WORDS):
        assert parse(f"There are {word}.").value == str(number)
        assert parse(f"There are {word}s.").value is None
    assert parse("There are thirty.").value is None
