import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmscore.metrics.normalized_match import normalize_text, normalized_match


@pytest.mark.parametrize(
    ("prediction", "reference"),
    [
        ("The Red car.", "red  car"),
        ("1,000", "1000.0"),
        ("1e3", "1000"),
        ("two", "2"),
        ("\\frac{1}{2}", "0.5"),
        ("½", "1/2"),
        ("$\\text{Paris}$", "paris"),
        ("１２", "12"),
        ("− 3", "-3"),
        (".50", "0.5"),
        ("5kg", "5 kg"),
        ("50 %", "50%"),
        ("红色。", "红色"),
        ("the", "The"),
        ("", ""),
    ],
)
def test_wordings_of_the_same_thing_match(prediction, reference):
    assert normalized_match(prediction, ["other", reference]) == 1.0
    assert normalized_match(reference, [prediction]) == 1.0


@pytest.mark.parametrize(
    ("prediction", "reference"),
    [
        ("50%", "0.5"),
        ("5 kg", "5"),
        ("red car", "red"),
        ("-3", "3"),
        ("1,00", "100"),
        ("nan", "0"),
        ("1/0", "0"),
        ("", "0"),
    ],
)
def test_different_things_do_not(prediction, reference):
    assert normalized_match(prediction, [reference]) == 0.0


def test_no_references_match_nothing():
    assert normalized_match("cat", []) == 0.0


@given(st.text(max_size=20))
def test_a_text_matches_itself_and_its_normal_form_is_stable_in_words(text):
    assert normalized_match(text, [text]) == 1.0
    assert normalize_text(text) == " ".join(normalize_text(text).split())


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3))
def test_numbers_match_by_value(number):
    assert normalized_match(f"{number:f}", [f"{number:f}000"]) == 1.0
