import pytest

from mmconvert.core.errors import RowError
from mmscore.kits.mmmu.grading import GradedAnswer, grade

ANSWERS = {
    "val_Art_1": GradedAnswer("multiple-choice", ["A", "C"]),
    "val_Art_2": GradedAnswer("short-answer", "42"),
    "val_Music_1": GradedAnswer("multiple-choice", "B"),
}


def test_letters_are_compared_and_open_answers_read():
    assert grade({"val_Art_1": "C", "val_Art_2": "it is 42."}, ANSWERS) == {
        "Art": {"val_Art_1": True, "val_Art_2": True}
    }


def test_null_letters_are_wrong_and_unknown_subjects_left_out():
    assert grade({"val_Art_1": None, "val_Astrology_1": "A"}, ANSWERS) == {"Art": {"val_Art_1": False}}


def test_a_prediction_without_an_answer_is_refused_where_the_subject_has_answers():
    with pytest.raises(RowError, match=r"no answer.*val_Art_1"):
        grade({"val_Art_11": "A"}, ANSWERS)
    assert grade({"val_Physics_1": "A"}, ANSWERS) == {}


def test_a_null_open_answer_is_refused():
    with pytest.raises(RowError, match="open question"):
        grade({"val_Art_2": None}, ANSWERS)
