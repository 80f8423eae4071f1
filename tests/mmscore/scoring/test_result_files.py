"""A framework's own result files, scored as the framework scores them."""

import json

import pandas as pd
import pytest

from mmconvert import convert
from mmscore import compare, explain
from mmscore.core.predictions.load import open_rows, read_for
from mmscore.core.recipe import OwnResults
from mmscore.kits.vlmevalkit.rows import RESULTS
from mmscore.scoring.evaluate import score
from support.predictions import write_predictions

COLUMNS = ("index", "question", "A", "B", "answer", "prediction")
FAILED = "Failed to obtain answer via API."


@pytest.fixture
def workbook(tmp_path):
    def write(*rows, columns=COLUMNS, name="model_SEEDBench_IMG.xlsx"):
        path = tmp_path / name
        frame = pd.DataFrame(rows, columns=columns, dtype=object)
        frame.to_excel(path, index=False) if path.suffix == ".xlsx" else frame.to_csv(path, sep="\t", index=False)
        return path

    return write


def _score(path, *recipe, **options):
    (entry,) = score(path, *recipe, **options).entries
    return entry


@pytest.mark.parametrize("name", ["model_SEEDBench_IMG.xlsx", "model_SEEDBench_IMG.tsv"])
def test_a_blank_response_counts_as_wrong_and_is_named(workbook, name):
    path = workbook((1, "Which?", "x", "y", "A", "A"), (2, "Which?", "x", "y", "A", None), name=name)
    entry = _score(path)
    assert entry.recipe == "vlmevalkit_mcq"
    assert entry.table[0]["Overall"] == 0.5
    assert (entry.counts.scored, entry.counts.unparsed, entry.counts.blank, entry.counts.rejected) == (2, 1, 1, 0)
    assert entry.to_json()["counts"]["blank"] == 1


def test_an_own_recipe_takes_a_blank_response_for_one_that_says_nothing(workbook):
    path = workbook((1, "Which?", "x", "y", "A", "A"), (2, "Which?", "x", "y", "A", None))
    entry = _score(path, "own_choice")
    assert entry.metrics["accuracy"].value == 0.5
    assert (entry.counts.scored, entry.counts.unparsed, entry.counts.blank) == (2, 1, 1)


def test_the_recipe_applies_what_the_loader_loses_and_an_own_recipe_does_not(workbook):
    """To pandas a blank response is nothing, which the framework prints as `nan`."""
    path = workbook(
        ("1", "What is written?", "['apple']", None),
        ("2", "What is written?", "['nan']", None),
        columns=("index", "question", "answer", "prediction"),
        name="model_DocVQA_VAL.tsv",
    )
    assert _score(path).metrics["anls"].value == 50.0
    assert _score(path, "own_short_answer").metrics["accuracy"].value == 0.0


def test_rows_of_one_index_have_the_hit_of_the_last_as_in_the_frameworks_dict(workbook):
    path = workbook((1, "Which?", "x", "y", "A", "B"), (1, "Which?", "x", "y", "A", "A"), (2, "?", "x", "y", "A", "B"))
    entry = _score(path)
    assert entry.table[0]["Overall"] == pytest.approx(2 / 3)
    assert (entry.counts.scored, entry.metrics["accuracy"].n) == (3, 2)


def test_ids_that_repeat_are_refused_by_a_recipe_of_another_framework(workbook):
    path = workbook((1, "Which?", "x", "y", "A", "B"), (1, "Which?", "x", "y", "A", "A"))
    with pytest.raises(Exception, match="appear more than once"):
        score(path, "own_choice")


def test_a_reference_that_is_no_letter_is_never_met(workbook):
    path = workbook((1, "Which?", "x", "y", "carpet", "A"), (2, "Which?", "x", "y", "A", "A"))
    assert _score(path).table[0]["Overall"] == 0.5
    own = _score(path, "own_choice")
    assert (own.counts.scored, own.counts.rejected) == (1, 1)


def test_a_failed_call_is_scored_as_text_and_the_number_without_it_stands_beside(workbook):
    path = workbook((1, "Which?", "x", "y", "A", "A"), (2, "Which?", "x", "y", "A", FAILED))
    entry = _score(path)
    assert (entry.metrics["accuracy"].value, entry.counts.failures) == (0.5, 1)
    assert (entry.without_failures["accuracy"].value, entry.without_failures["accuracy"].n) == (1.0, 1)
    assert entry.to_json()["without_failures"]["accuracy"]["value"] == 1.0


def test_a_failed_call_of_our_own_stays_out(tmp_path):
    rows = [
        {"id": "1", "prediction": "A", "answer": "A", "options": ["x", "y"], "task": "multiple_choice"},
        {"id": "2", "prediction": None, "answer": "A", "options": ["x", "y"], "task": "multiple_choice"},
    ]
    entry = _score(write_predictions(tmp_path / "p.parquet", rows), "vlmevalkit_mcq")
    assert (entry.metrics["accuracy"].value, entry.counts.failed, entry.counts.failures) == (1.0, 1, 0)
    assert entry.without_failures == {}


def test_an_object_in_mmmu_pros_file_is_an_empty_response(tmp_path):
    questions = [
        {"id": f"test_Art_{n}", "question": "?", "options": "['x', 'y']", "answer": "A", "response": response}
        for n, response in enumerate(["Answer: A", {"error": "quota"}])
    ]
    path = tmp_path / "model_vision_direct.jsonl"
    path.write_text("".join(json.dumps(question) + "\n" for question in questions))
    entry = _score(path)
    assert entry.metrics["accuracy_without_fallback"].value == 0.5
    assert (entry.counts.scored, entry.counts.failures) == (2, 1)
    assert entry.without_failures["accuracy_without_fallback"].value == 1.0


def test_reform_eval_counts_rows_of_one_option_and_numbers_outside(tmp_path):
    path = tmp_path / "VQA_SingleChoice_likelihood_model_model.json"
    rows = [
        {"sample_id": 1, "answer": "0", "answer_options": ["only"], "prediction": 0},
        {"sample_id": 2, "answer": "0", "answer_options": ["x", "y"], "prediction": -1},
    ]
    path.write_text(json.dumps(rows))
    entry = _score(path)
    assert (entry.metrics["accuracy"].value, entry.metrics["instability"].value) == (0.5, 0.0)
    path = tmp_path / "VQA_SingleChoice_generation_model_model.json"
    path.write_text(json.dumps([{"sample_id": "a", "answer": "0", "prediction": "(A) x"}]))
    assert _score(path).metrics["accuracy"].value == 1.0


def test_a_file_is_read_anew_for_its_own_framework_alone(workbook):
    path = workbook((1, "Which?", "x", "y", "A", None))
    plain = open_rows(path, repeated=True)
    assert _list_predictions(read_for(plain, RESULTS)) == ["nan"]
    assert _list_predictions(read_for(plain, OwnResults(frozenset(("lmms_eval_samples",)), reading="vlmevalkit"))) == [
        ""
    ]
    assert _list_predictions(read_for(plain, None)) == [""]


@pytest.mark.parametrize("name", ["model_DocVQA_VAL.xlsx", "model_DocVQA_VAL.tsv"])
def test_a_converted_table_says_which_responses_its_framework_reads_as_others(workbook, tmp_path, name):
    columns = ("index", "question", "answer", "prediction")
    path = workbook(("1", "?", "['a']", "a"), ("2", "?", "['nan']", None), ("3", "?", "['b']", "NA"), columns=columns,
                    name=name)  # fmt: skip
    convert(path, tmp_path / "dataset")
    (note,) = _score(tmp_path / "dataset").notes
    assert note.startswith("2 responses (1 of them empty) are scored as they were converted")
    assert note.endswith(f"mmscore score {name}")
    assert (_score(path).notes, _score(tmp_path / "dataset", "own_short_answer").notes) == ((), ())
    compared = compare(tmp_path / "dataset", path, dataset="DocVQA_VAL")
    assert [one for one in compared.notes if note in one] == [f"{tmp_path / 'dataset'}: {note}"]
    assert note in explain(tmp_path / "dataset").notes


def test_a_dataset_converted_as_the_framework_reads_or_from_json_needs_no_such_word(workbook, tmp_path):
    path = workbook((1, "Which?", "x", "y", "A", "A"), (2, "Which?", "x", "y", "A", None))
    convert(path, tmp_path / "dataset", read_as="vlmevalkit")
    rows = [{"index": 1, "question": "?", "A": "x", "B": "y", "answer": "A", "prediction": ""}]
    (tmp_path / path.with_suffix(".json")).write_text(json.dumps(rows))
    convert(path.with_suffix(".json"), tmp_path / "other")
    assert (_score(tmp_path / "dataset").notes, _score(tmp_path / "other").notes) == ((), ())


def test_ids_that_repeat_are_named_in_the_report(workbook):
    path = workbook((1, "Which?", "x", "y", "A", "B"), (1, "Which?", "x", "y", "A", "A"), (2, "?", "x", "y", "A", "B"))
    (note,) = _score(path).notes
    assert note == "ids of several rows: 1 (2 rows); they count as the framework counts them"


def _list_predictions(rows):
    return [text for batch in rows.read(["prediction"]) for text in batch.column("prediction").to_pylist()]
