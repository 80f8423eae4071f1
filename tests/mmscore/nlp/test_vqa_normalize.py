import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmscore.nlp.vqa_normalize import CONTRACTIONS, DOT_BEFORE_NO_DIGIT, MARKS, process_answer, process_punctuation


@pytest.mark.parametrize(
    ("text", "rewritten"),
    [
        ("well-known", "well known"),
        ("well- known", "well known"),
        ("1,000 kg/m", "1000 kgm"),
        ("a.b 3.5 .5 5. end.", "ab 3.5 .5 5. end"),
        ("**No**: it's #1", "**No**: it's #1"),
        ("是！", "是！"),
    ],
)
def test_marks_are_dropped_beside_blanks_and_become_blanks_elsewhere(text, rewritten):
    assert process_punctuation(text) == rewritten


def test_only_the_first_32_dots_are_deleted():
    assert process_punctuation("a." * 40) == "a" * 32 + "a." * 8


def test_another_kit_deletes_dots_after_digits_too():
    assert process_punctuation("5. 3.5", DOT_BEFORE_NO_DIGIT) == "5 3.5"


@pytest.mark.parametrize(
    ("text", "rewritten"),
    [("The two\ncats dont", "2 cats don't"), (" None ", "0"), ("I'M", "i'm"), ("Im a man", "im man"), ("", "")],
)
def test_words_are_rewritten_in_lower_case(text, rewritten):
    assert process_answer(text) == rewritten


def test_capital_contractions_are_never_met():
    assert {key for key in CONTRACTIONS if key != key.lower()} == {"Id've", "I'dve", "Im", "Ive"}


@given(st.text(alphabet=[*MARKS, *"aB1. \n\té"], max_size=30))
def test_the_result_has_single_blanks_and_no_article(text):
    words = process_answer(text).split(" ")
    assert process_answer(text) == " ".join(word for word in words if word)
    assert not {"a", "an", "the"} & set(words)
