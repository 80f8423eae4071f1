import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmscore.parsers.lmms_mmbench_option import lmms_mmbench_option

OPTIONS = {"A": "cat", "B": "dog", "C": "nan", "D": "mouse"}


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("B", "B"),
        ("E", "E"),
        ("(B).", "B"),
        ("answer :B", "B"),
        ("A B", None),
        ("It is A", "A"),
        ("It is A for sure, a dog", "B"),
        ("a banana", "C"),
        ("cat dog", None),
        ("B. or C.", None),
    ],
)
def test_tokens_then_texts(reply, letter):
    assert lmms_mmbench_option(reply, OPTIONS).value == letter


@given(st.text(alphabet="ABE .,:()catİ", max_size=20))
def test_the_span_shows_the_answer(reply):
    parsed = lmms_mmbench_option(reply, OPTIONS)
    if parsed.span:
        assert reply[slice(*parsed.span)].lower() in (parsed.value.lower(), OPTIONS.get(parsed.value))
