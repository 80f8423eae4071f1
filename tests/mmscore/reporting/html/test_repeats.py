import math

from mmscore.reporting.html.repeats import repeats
from mmscore.reporting.html.verdicts import verdicts_of
from mmscore.scoring.evaluate import ScoreOptions, score_results
from support.predictions import choices, write_predictions


def found(tmp_path, rows, recipe="own_choice"):
    file = write_predictions(tmp_path / "p.parquet", rows)
    result = next(score_results([file], [recipe], ScoreOptions()))
    return repeats(result, verdicts_of(result))


def copies(*questions):
    """Make rows of questions from lists of (prediction, answer, options)."""
    rows = []
    for sample, replies in enumerate(questions):
        for variant, (prediction, answer, options) in enumerate(replies):
            row = choices((prediction, answer))[0]
            place = {"id": f"{sample}#{variant}", "sample": str(sample), "variant": variant}
            rows.append({**row, **place, "options": options})
    return rows


def test_replies_agree_when_they_mean_the_same_option_wherever_it_stands(tmp_path):
    rows = copies(
        [("A", "A", ["red", "green"]), ("B", "B", ["green", "red"])],
        [("A", "A", ["red", "green"]), ("A", "B", ["green", "red"])],
    )
    told = found(tmp_path, rows)
    assert (told.questions, told.replies, told.alike) == (2, 4, 1)
    assert told.entropy == math.log(2) / 2
    assert told.right == ((2, 1, 1), (2, 2, 1))
    assert told.unstable == {"1#0", "1#1"}


def test_rotations_of_a_circular_recipe_count_as_replies(tmp_path):
    rows = copies([("A", "A", ["red", "green"]), ("A", "B", ["green", "red"])])
    assert found(tmp_path, rows, "mmbench_circular").right == ((2, 1, 1),)


def test_questions_asked_once_have_nothing_to_agree_on(tmp_path):
    assert found(tmp_path, choices(("A", "A"), ("B", "A"))) is None
