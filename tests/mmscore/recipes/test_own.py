import pytest

from mmconvert.plugins.registry import load
from mmscore.core.recipe import Item
from mmscore.scoring.evaluate import score
from support.items import score_items
from support.predictions import choices, write_predictions

CHOICE = load("mmscore.recipes", "own_choice")
SHORT = load("mmscore.recipes", "own_short_answer")


def test_what_hangs_on_unread_replies_is_shown(tmp_path):
    file = write_predictions(tmp_path / "p.parquet", choices(("The answer is B", "B"), ("A", "B"), ("hm", "B")))
    (entry,) = score(file).entries
    assert (entry.recipe, entry.parity, entry.counts.unparsed) == ("own_choice", "own", 1)
    values = {name: estimate.value for name, estimate in entry.metrics.items()}
    assert values == {
        "accuracy": 1 / 3,
        "accuracy_if_unparsed_dropped": 1 / 2,
        "accuracy_if_unparsed_guessed": pytest.approx(4 / 9),
    }


def test_a_likelihood_choice_is_not_parsed():
    item = Item(prediction="C", options=["A cat", "B", "x"], answer="C", method="likelihood")
    assert score_items([item], CHOICE).column("how") == ["likelihood"]


def test_unlabelled_rows_are_left_out_and_a_bad_reference_is_rejected(tmp_path):
    rows = choices(("A", "A"), ("A", None), ("A", "AB"), ("A", "Z"))
    (entry,) = score(write_predictions(tmp_path / "p.parquet", rows), "own_choice").entries
    assert (entry.counts.scored, entry.counts.excluded, entry.counts.rejected) == (1, 1, 2)


@pytest.mark.parametrize(
    ("reply", "answers", "value"),
    [("The answer is 42.", ["42"], 1), ("two", ["3", "2"], 1), ("", ["x"], 0), ("cats", ["cat"], 0)],
)
def test_short_answers_meet_any_reference(reply, answers, value):
    assert score_items([Item(prediction=reply, answers=answers)], SHORT).scores["accuracy"].tolist() == [value]


def test_short_answers_without_a_reference_are_left_out():
    scored = score_items([Item(prediction="x"), Item(prediction="x", answer="x")], SHORT)
    assert scored.column("status") == ["excluded", "scored"]
