import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmscore.parsers.vlmevalkit_yes_no import vlmevalkit_yes_no


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        ("Yes", "Yes"),
        ("no.", "No"),
        ("Yes, it is", "Yes"),
        ("yes or no", None),
        ("**No**", None),
        ("Answer:No", None),
        ("Yes.No", None),
        ("know", None),
        ("是", None),
    ],
)
def test_one_of_the_two_words_must_stand_alone(reply, word):
    assert vlmevalkit_yes_no(reply).value == word


@given(st.text(alphabet="yesnoYESNO .,-İ", max_size=20))
def test_the_span_shows_the_word(reply):
    parsed = vlmevalkit_yes_no(reply)
    if parsed.span:
        assert reply[slice(*parsed.span)].capitalize() == parsed.value
