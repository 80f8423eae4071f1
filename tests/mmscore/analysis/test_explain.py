import json

import pytest

from mmconvert.core.errors import Error, UsageError
from mmscore.api import explain
from mmscore.reporting.explain_table import format_excerpt
from mmscore.scoring.evaluate import score
from support.json_shape import faults
from support.predictions import choices, write_predictions

PLAIN = "tests/support/plain_recipe.py@RECIPE"


@pytest.fixture
def file(tmp_path):
    rows = choices(("A", "A"), ("The answer is **B**.", "B"), ("not B but C", "C"), ("hm", "A"), ("(B)", "A"))
    return str(write_predictions(tmp_path / "p.parquet", rows))


def test_each_row_shows_the_rule_that_fired_and_where(file):
    found = explain(file, recipe=["own_choice"])
    (reader,) = found.readers
    assert found.gap is None
    assert (reader.value, reader.n, found.found) == (0.6, 5, 5)
    assert sum(rule.rows for rule in reader.rules) == 5
    row = found.rows[1]
    assert (row.id, row.reference, row.prediction) == ("1", ("B",), "The answer is **B**.")
    (reading,) = row.readings
    assert reading.value == row.prediction[slice(*reading.span)] == "B"
    assert found.rows[3].readings[0].how == "unparsed"


def test_two_recipes_show_only_the_rows_they_score_differently(file):
    found = explain(file, recipe=["own_choice", "reform_singlechoice"])
    a, b = found.readers
    assert (a.score, b.score) == ("accuracy", "accuracy")
    assert [row.id for row in found.rows] == ["0", "1", "2"]
    assert all(row.readings[0].score != row.readings[1].score for row in found.rows)
    assert found.gap.difference == pytest.approx(b.value - a.value)
    assert found.gap.difference == pytest.approx(sum(p.contribution for p in found.gap.pairs))


def test_the_numbers_are_those_of_the_report(file):
    found = explain(file, recipe=["own_choice", "vlmevalkit_mcq@v1"])
    for reader, entry in zip(found.readers, score(file, ["own_choice", "vlmevalkit_mcq@v1"]).entries, strict=True):
        assert reader.metrics == entry.metrics
        assert reader.value == entry.metrics["accuracy"].value


def test_a_row_that_one_recipe_leaves_out_is_accounted_for(tmp_path, repository):
    other = tmp_path / "strict.py"
    other.write_text(
        "from dataclasses import replace\n"
        "from mmconvert.plugins.registry import load\n"
        "from mmscore.core.parsed import Parsed\n"
        f"PLAIN = load('mmscore.recipes', {str(repository / PLAIN)!r})\n"
        "RECIPE = replace(PLAIN, versions={'1': 'one'}, metrics=lambda item, parsed, version: {'accuracy': 0.0})\n"
    )
    rows = [
        {"id": n, "answer": "x", "prediction": p} for n, p in zip("abcd", ["x", "LEAVE OUT", "x", None], strict=True)
    ]
    found = explain(
        str(write_predictions(tmp_path / "p.parquet", rows)), recipe=[f"{repository / PLAIN}@1", f"{other}@RECIPE"]
    )
    assert found.gap.rows == 2
    assert (found.gap.only_a.rows, found.gap.only_b.rows) == (0, 1)
    assert found.gap.difference == -1
    left_out = next(row for row in found.rows if row.id == "b")
    assert [reading.status for reading in left_out.readings] == ["excluded", "scored"]
    assert "d" not in [row.id for row in found.rows]


def test_replies_are_shown_where_the_recipe_drops_them(tmp_path, repository):
    own = tmp_path / "dropping.py"
    own.write_text(
        "from dataclasses import replace\n"
        "from mmconvert.plugins.registry import load\n"
        f"PLAIN = load('mmscore.recipes', {str(repository / PLAIN)!r})\n"
        "KEPT = ('id', 'status', 'value', 'how', 'start', 'end')\n"
        "RECIPE = replace(PLAIN, settle=lambda scored, version: scored.only(KEPT))\n"
    )
    file = write_predictions(tmp_path / "p.parquet", choices(("A", "A"), ("B", "A")))
    found = explain(str(file), recipe=[f"{own}@RECIPE"])
    assert [(row.prediction, row.reference) for row in found.rows] == [("A", ("A",)), ("B", ("A",))]


def test_the_recipe_that_fits_is_taken_and_the_limit_kept(file):
    found = explain(file, limit=2)
    assert found.readers[0].choice.name == "own_choice"
    assert (len(found.rows), found.found) == (2, 5)
    assert explain(file, limit=0).rows == ()


def test_references_can_come_from_a_dataset(tmp_path):
    rows = choices(("A", "A"), ("B", "A"))
    answers = write_predictions(
        tmp_path / "d.parquet", [{k: v for k, v in r.items() if k != "prediction"} for r in rows]
    )
    bare = write_predictions(tmp_path / "p.parquet", [{"id": r["id"], "prediction": r["prediction"]} for r in rows])
    found = explain(str(bare), recipe=["own_choice"], answers=str(answers))
    assert [row.reference for row in found.rows] == [("A",), ("A",)]


def test_another_score_can_be_asked_for(file):
    found = explain(file, recipe=["own_choice"], score="accuracy_if_unparsed_dropped")
    assert (found.readers[0].n, found.readers[0].value) == (4, 0.75)
    with pytest.raises(UsageError, match="Did you mean accuracy"):
        explain(file, recipe=["own_choice"], score="acuracy")


def test_too_many_recipes_and_none_that_score_are_refused(file, tmp_path, repository):
    with pytest.raises(UsageError, match="at most two recipes"):
        explain(file, recipe=["own_choice"] * 3)
    with pytest.raises(UsageError, match="needs a judge, and none is given"):
        explain(file, recipe=["vlmevalkit_mmvet"])
    left_out = write_predictions(tmp_path / "q.parquet", [{"id": "1", "prediction": "LEAVE OUT", "answer": "x"}])
    with pytest.raises(Error, match="scores no row"):
        explain(str(left_out), recipe=[str(repository / PLAIN)])


@pytest.mark.parametrize("recipes", [["own_choice"], ["own_choice", "vlmevalkit_mcq"]])
def test_the_json_has_the_shape_that_the_schema_says(file, recipes):
    found = json.loads(json.dumps(explain(file, recipe=recipes).to_json(), allow_nan=False))
    assert faults(found, "explain.json") == []


@pytest.mark.parametrize(
    ("text", "span", "shown"),
    [
        ("B", (0, 1), ">>B<<"),
        ("line\nB", (5, 6), "line >>B<<"),
        ("x" * 60 + "B" + "y" * 60, (60, 61), "..." + "x" * 50 + ">>B<<" + "y" * 50 + "..."),
        ("z" * 200, None, "z" * 50 + " ... " + "z" * 50),
        ("z" * 200, (0, 200), ">>" + "z" * 50 + " ... " + "z" * 50 + "<<"),
        ("short", None, "short"),
    ],
)
def test_a_reply_is_cut_around_its_answer(text, span, shown):
    assert format_excerpt(text, span) == shown


def test_mmmu_replies_differ_where_the_kits_do(shared):
    found = explain(str(shared / "real" / "mmmu" / "llava1.5_13b"), recipe=["mmmu_val", "lmms_mmmu"])
    assert [row.id for row in found.rows] == ["validation_Geography_22", "validation_Pharmacy_19"]
    assert found.gap.difference == pytest.approx(-2 / 900)


def test_rows_without_an_id_part_no_two_recipes(tmp_path):
    rows = choices(("A", "A"), ("A", "A"), ("The answer is **B**.", "B"))
    rows[0]["id"] = rows[1]["id"] = None
    file = str(write_predictions(tmp_path / "p.parquet", rows))
    found = explain(file, recipe=["own_choice", "reform_singlechoice"])
    assert [row.id for row in found.rows] == ["2"]
    assert len(explain(file, recipe=["own_choice"]).rows) == 3
