import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import Error
from mmscore.parsers.reform_choice import MARKS, reform_choice


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("(B) no", "B"),
        ("(b) no", "B"),
        ("(2) no", "B"),
        ("not (C) but (A)", "C"),
        ("A", None),
        ("A.", None),
        ("(A", None),
        ("(10)", None),
        ("(0)", None),
        ("（A）", None),
    ],
)
def test_the_first_mark_in_brackets_counts(reply, letter):
    assert reform_choice(reply).value == letter


def test_one_family_of_marks_may_be_asked_for():
    assert [reform_choice("(1) (b) (C)", marks).value for marks in MARKS] == ["A", "C", "B", "A"]


@given(st.text(alphabet="()ABab12 é", max_size=12))
def test_the_span_is_the_mark(reply):
    parsed = reform_choice(reply)
    if parsed.span is not None:
        start, end = parsed.span
        assert (reply[start - 1], reply[end]) == ("(", ")")


def test_unknown_marks_are_refused():
    with pytest.raises(Error, match="upper"):
        reform_choice("(A)", "uper")
