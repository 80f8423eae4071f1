import pytest

from mmconvert.core.errors import RowError
from mmscore.metrics.vlmevalkit_ocrbench import MATHEMATICS, build_scoreboard, vlmevalkit_ocrbench

READING = "Regular Text Recognition"


@pytest.mark.parametrize(
    ("prediction", "references", "category", "right"),
    [
        ("The text reads EXIT 4.", ["exit 4"], READING, True),
        ("Exit4", ["exit 4"], READING, False),
        ("Hello\nWorld", ["hello world"], READING, True),
        ("Hello\nWorld", ["HelloWorld"], MATHEMATICS, True),
        ("X^2 + 1", ["x^2+1"], MATHEMATICS, False),
        ("anything", [""], READING, True),
        ("anything", [], READING, False),
    ],
)
def test_a_reference_must_be_contained(prediction, references, category, right):
    assert vlmevalkit_ocrbench(prediction, references, category) is right


def test_a_number_among_the_references_is_refused_only_where_it_is_reached():
    assert vlmevalkit_ocrbench("1", ["1", 2], READING)
    with pytest.raises(RowError, match="must be a text"):
        vlmevalkit_ocrbench("x", ["1", 2], READING)


def test_six_categories_are_summed_and_a_tenth_is_the_norm():
    hits = [(READING, True), ("Handwriting Recognition", True), (MATHEMATICS, True), ("Doc-oriented VQA", False)]
    board = build_scoreboard(hits)
    assert (board["Text Recognition"], board[MATHEMATICS], board["Final Score"], board["Final Score Norm"]) == (
        2,
        1,
        3,
        0.3,
    )


def test_an_unknown_category_matters_only_where_it_would_count():
    assert build_scoreboard([("Other", False)])["Final Score"] == 0
    with pytest.raises(RowError, match=r"not a category.*Did you mean Handwriting Recognition"):
        build_scoreboard([("Handwriting recognition", True)])
