import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import RowError
from mmconvert.core.record import LETTERS
from mmconvert.kits.vlmevalkit.circular import build_circular_rows, can_rotate


def _row(index, options, answer, **more):
    return {"index": str(index), **dict(zip("ABCD", options, strict=False)), "answer": answer, **more}


def test_each_pass_moves_every_option_up_one_letter():
    rows = build_circular_rows([_row(5, ["w", "x", "y"], "B", image="bytes")])
    assert [(r["index"], r["A"], r["B"], r["C"], r["answer"], r["image"]) for r in rows] == [
        (5, "w", "x", "y", "B", "bytes"),
        (1_000_005, "x", "y", "w", "A", "5"),
        (2_000_005, "y", "w", "x", "C", "5"),
    ]
    assert {r["g_index"] for r in rows} == {5}


def test_questions_of_one_size_stand_together_pass_by_pass_and_the_others_once():
    rows = build_circular_rows(
        [_row(1, "xy", "A"), _row(2, "xy", "Z"), _row(3, "xyz", "C"), _row(4, "zy", "B"), _row(6, [], "42")]
    )
    assert [row["index"] % 1_000_000 for row in rows] == [1, 4, 1, 4, 2, 6, 3, 3, 3]


def test_the_offset_grows_with_the_indices():
    assert [row["index"] for row in build_circular_rows([_row(1_000_000, "xy", "A")])] == [1_000_000, 11_000_000]


@pytest.mark.parametrize(
    ("options", "answer", "can"),
    [
        ({"A": "x", "B": "y"}, "A", True),
        ({"A": "x", "B": "y"}, "AB", False),
        ({"A": "x", "B": "AB"}, "A", False),
        ({"A": "x", "B": "A and B"}, "A", False),
        ({"A": "x", "B": "A/B"}, "A", False),
        ({"A": "x", "B": "A and C"}, "A", True),
        ({}, "42", False),
    ],
)
def test_a_question_that_names_its_letters_stays_as_it_is(options, answer, can):
    assert can_rotate(options, answer) is can


@pytest.mark.parametrize("options", [[None, "x"], ["x"], ["x", None, "y"]])
def test_gaps_and_single_options_are_refused(options):
    with pytest.raises(RowError, match=r"option"):
        build_circular_rows([_row(1, options, "A")])


def test_an_index_must_be_a_whole_number():
    with pytest.raises(RowError, match="whole number"):
        build_circular_rows([_row("1.0", "xy", "A")])


@given(st.lists(st.sampled_from(["cat", "dog", "cow", "hen"]), min_size=2, max_size=26), st.data())
def test_the_answer_follows_its_option(options, data):
    place = data.draw(st.integers(0, len(options) - 1))
    rows = build_circular_rows([{"index": "1", **dict(zip(LETTERS, options, strict=False)), "answer": LETTERS[place]}])
    assert len(rows) == len(options)
    for row in rows:
        assert row[row["answer"]] == options[place]
        assert sorted(row[letter] for letter in LETTERS[: len(options)]) == sorted(options)


def test_a_missing_column_of_options_is_refused_even_where_those_behind_it_are_empty():
    with pytest.raises(RowError, match="D"):
        build_circular_rows([{"index": "1", "A": "x", "B": "y", "D": None, "answer": "A"}])
