import pytest

from mmscore.reporting.html.verdicts import verdicts_of
from mmscore.scoring.evaluate import ScoreOptions, score_results
from support.predictions import choices, write_predictions


def verdicts(tmp_path, rows, recipe):
    file = write_predictions(tmp_path / "p.parquet", rows)
    return verdicts_of(next(score_results([file], [recipe], ScoreOptions())))


def test_a_sample_is_correct_wrong_unparsed_or_what_its_status_says(tmp_path):
    rows = choices(("A", "A"), ("B", "A"), ("who knows", "A"), (None, "A"))
    found = verdicts(tmp_path, rows, "own_choice")
    assert found.score == "accuracy"
    assert found.words == ["correct", "wrong", "unparsed", "failed"]
    assert (found.kind, found.references, found.readings) == ("letters", ["A"] * 4, ["A", "B", None, None])


def test_yes_and_no_are_compared_in_small_letters(tmp_path):
    rows = [{"id": str(n), "prediction": p, "answer": a} for n, (p, a) in enumerate([("Yes.", "Yes"), ("no", "Yes")])]
    found = verdicts(tmp_path, rows, "pope_official")
    assert (found.kind, found.references, found.words) == ("yes_no", ["yes", "yes"], ["correct", "wrong"])


def test_a_rotation_without_a_score_of_its_own_is_compared_with_its_reference(tmp_path):
    rows = choices(("A", "A"), ("B", "B"), ("A", "C"))
    rows = [{**row, "sample": "q", "variant": n} for n, row in enumerate(rows)]
    assert verdicts(tmp_path, rows, "mmbench_circular").words == ["wrong", "correct", "wrong"]


@pytest.mark.parametrize(("scores", "words"), [((1.0, 0.3, 0.0), ["correct", "partly correct", "wrong"])])
def test_part_of_the_score_is_partly_correct(tmp_path, scores, words):
    answers = {1.0: ["cat"] * 10, 0.3: ["cat", *["dog"] * 9], 0.0: ["dog"] * 10}
    rows = [{"id": str(n), "prediction": "cat", "answers": answers[score]} for n, score in enumerate(scores)]
    assert verdicts(tmp_path, rows, "lmms_vqav2").words == words
