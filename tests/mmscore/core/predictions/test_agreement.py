import pyarrow as pa
import pytest

from mmscore.core.predictions.agreement import compare_questions
from mmscore.core.predictions.load import open_rows
from support.predictions import write_predictions


def _compared(tmp_path, ours, theirs):
    """Compare rows one by one; None as a side's row leaves it without a partner."""
    rows = [
        open_rows(
            write_predictions(tmp_path / f"{name}.parquet", [{"id": str(n), **row} for n, row in enumerate(side)]),
            required=("id",),
        )
        for name, side in (("a", ours), ("b", theirs))
    ]
    return compare_questions(*rows, pa.array(range(len(ours)), pa.int32()))


@pytest.mark.parametrize(
    ("one", "other", "unlike"),
    [
        ("Is there a car in it?", "Is there a cat in it?", 1),
        ("Is there a car in it?", " is  there a\nCAR in it? ", 0),
        ("Is there a car in it?", "Is there a car in it?\nAnswer with one word.", 0),
        ("Look. <image 1> Which colour?", "look. Which colour?", 0),
        ("Is it?", "Is it? Yes or no.", 1),
        ("Is it ok", "Is it ok? Yes or no.", 0),
        ("\u00a0What is\u3000it?", "what is it?", 0),
        ("STRASSE", "strasse", 0),
        ("", "What?", 0),
        (None, "What?", 0),
        ("  ", "What?", 0),
    ],
)
def test_questions_are_the_same_but_for_case_white_space_and_what_stands_around(tmp_path, one, other, unlike):
    for a, b in ((one, other), (other, one)):
        found = _compared(tmp_path, [{"question": a}, {"question": "?"}], [{"question": b}, {"question": "?"}])
        assert found.unlike == unlike


@pytest.mark.parametrize(
    ("one", "other", "unlike"),
    [
        (["red", "blue"], ["Red ", "BLUE"], 0),
        (["red", "blue"], ["blue", "red"], 1),
        (["red", "blue"], ["red", "blue", "green"], 1),
        (["red", "blue"], ["red", "blue", None, ""], 0),
        (["red", None, "blue"], ["red", "", "blue"], 0),
        (["a b", "c"], ["a", "b c"], 1),
        (["red", "blue"], [], 0),
        (["red", "blue"], None, 0),
    ],
)
def test_options_are_the_same_in_the_same_order(tmp_path, one, other, unlike):
    found = _compared(tmp_path, [{"options": one}, {"options": ["x"]}], [{"options": other}, {"options": ["x"]}])
    assert found.unlike == unlike


def test_a_row_that_differs_in_both_counts_once_and_two_are_shown(tmp_path):
    ours = [{"question": f"Question number {n}?", "options": ["a", "b"]} for n in range(4)]
    theirs = [{**row, "question": f"Other {n}", "options": ["b", "a"]} for n, row in enumerate(ours[:3])] + ours[3:]
    found = _compared(tmp_path, ours, theirs)
    assert (found.joined, found.compared, found.unlike) == (4, 4, 3)
    assert found.examples == (
        "0: 'Question number 0?' against 'Other 0'",
        "1: 'Question number 1?' against 'Other 1'",
    )


def test_long_texts_are_cut_and_options_are_shown_side_by_side(tmp_path):
    ours = [{"options": ["x" * 200, "b"]}, {"options": ["a", "b"]}]
    found = _compared(tmp_path, ours, [{"options": ["c", "d"]}, {"options": ["a", "c"]}])
    assert found.examples == (f"0: {'x' * 90!r}... against 'c | d'", "1: 'a | b' against 'a | c'")


def test_what_one_side_does_not_have_is_not_compared(tmp_path):
    ours = [{"question": "What?", "options": ["a", "b"]}]
    assert _compared(tmp_path, ours, [{"answer": "A"}]).compared == 0
    assert _compared(tmp_path, ours, [{"question": None, "options": ["a", "c"]}]).unlike == 1
    # A column of another meaning under the name is no question.
    assert _compared(tmp_path, ours, [{"question": {"text": "Else?"}}]).compared == 0
