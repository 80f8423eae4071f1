import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmscore.nlp.relaxed_match import compute_anls_distance, compute_similarity, is_relaxed_match


@pytest.mark.parametrize(
    ("target", "prediction", "right"),
    [
        ("10", "10.5", True),
        ("10", "10.51", False),
        ("0", "0.01", False),
        ("0.0", "0", False),
        ("50%", "0.5", True),
        ("1,000", "1000", False),
        ("1_000", "1000", True),
        ("nan", "nan", False),
        ("Yes", "yes", True),
        ("", " ", False),
    ],
)
def test_relaxed_correctness(target, prediction, right):
    assert is_relaxed_match(target, prediction) is right


def test_padding_and_long_capitals_lower_the_anls_distance():
    assert compute_anls_distance("  ", "a") == 0.5
    assert compute_anls_distance("ß", "SS") == 1.0
    assert compute_anls_distance("", "") == 0.0


@given(st.text(max_size=12), st.text(max_size=12))
def test_a_similarity_is_nothing_or_at_least_one_half(reference, prediction):
    value = compute_similarity(compute_anls_distance(reference, prediction))
    assert value == 0.0 or 0.5 <= value <= 1.0
