import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import Error, RowError
from mmscore.kits.vlmevalkit.mathvista import (
    GradedQuestion,
    MathvistaQuestion,
    build_mathvista_table,
    is_right,
    read_directly,
    read_skills,
)

CHOICE = MathvistaQuestion("multi_choice", "text", "['pear', 'plum']", "plum", "B")
WHOLE = MathvistaQuestion("free_form", "integer", "", "7", "")
DECIMAL = MathvistaQuestion("free_form", "float", "", "1.5", "")
WORD = MathvistaQuestion("free_form", "text", "", "red", "")


@pytest.mark.parametrize(
    ("question", "text", "direct", "right"),
    [
        (CHOICE, "plum", "B", True),
        (CHOICE, "(A)", "A", False),
        (CHOICE, "fig", None, False),
        (WHOLE, " 7\n", 7, True),
        (WHOLE, "7.0", None, False),
        (WHOLE, "8", None, False),
        (DECIMAL, "1.50", 1.5, True),
        (DECIMAL, "about 1.5", None, False),
        (WORD, "red", None, False),
    ],
)
def test_options_are_read_whatever_they_are_and_numbers_only_when_right(question, text, direct, right):
    assert read_directly(question, text) == direct
    assert is_right(question, text) is right


def test_choices_that_are_no_list_are_refused():
    with pytest.raises(RowError):
        read_directly(MathvistaQuestion("multi_choice", "text", "pear or plum", "plum", "B"), "B")


@given(st.text())
def test_any_answer_is_read(text):
    for question in (CHOICE, WHOLE, DECIMAL, WORD):
        read_directly(question, text)
        is_right(question, text)


def test_a_row_counts_overall_for_its_skills_and_for_its_task():
    table = build_mathvista_table(
        [
            GradedQuestion("geometry", "['algebra', 'logic']", False, True),
            GradedQuestion("figures", "['logic']", True, False),
        ]
    )
    assert [line["Task&Skill"] for line in table] == ["Overall", "algebra", "logic", "geometry", "figures"]
    assert table[2] == {"Task&Skill": "logic", "tot": 2, "prefetch": 1, "hit": 1, "prefetch_rate": 50.0, "acc": 50.0}


@pytest.mark.parametrize("cell", ["algebra", "s1, s2", "5", "s1-s2", " 'algebra'"])
def test_skills_that_python_could_run_are_refused(cell):
    with pytest.raises(Error, match="skills"):
        read_skills(cell)


@pytest.mark.parametrize("cell", ["plain skill", "logic?", "(" * 500, "not - " * 500])
def test_other_text_is_one_skill(cell):
    assert read_skills(cell) == [cell]
