import math

import pytest

from mmscore.metrics.mmmu_open_match import mmmu_open_match
from mmscore.parsers.mmmu_open import extract_numbers, mmmu_open, normalize_str


def test_the_shortest_tail_of_each_line_is_kept_with_its_numbers():
    assert mmmu_open("Thus x = 3\nSo the final answer is 1.5e3 m") == ["x = 3", "1.5e3 m", 3.0, 1500.0, 1.0]


def test_an_equals_sign_counts_in_the_last_line_only():
    assert mmmu_open("y = 2\nz = 4") == [4.0]


def test_lone_marks_are_dropped_and_the_whole_reply_is_the_answer():
    assert mmmu_open("X is !") == ["x is !"]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("3,500", ["3,500", "500"]), ("12kg", []), ("12个", []), ("3.5米", ["3.5"]), ("-.5", ["-.5"])],
)
def test_numbers_are_found_with_the_scripts_edges(text, numbers):
    assert extract_numbers(text) == numbers


def test_floats_are_whatever_python_reads_as_one():
    assert normalize_str("1_000") == [1000.0]
    assert normalize_str("１２") == [12.0]
    assert normalize_str("1e400") == [math.inf]
    assert math.isnan(normalize_str("nan")[0])
    assert normalize_str("2.675") == [2.67]


@pytest.mark.parametrize(
    ("gold", "reply", "right"),
    [
        ("42", "The answer is 42.", True),
        (["24/7", "3.429"], "so 3.43", True),
        ("5%", "the result is 5% of it", True),
        ("5", "five", False),
        ("", "anything", True),
        ("B", "it is b", True),
        ("B", "it is bad", False),
    ],
)
def test_matching(gold, reply, right):
    assert mmmu_open_match(gold, mmmu_open(reply)) is right
