"""`--allow-mismatch`, wherever `--answers` is."""

import json

import pytest

from support.predictions import choices, write_predictions
from support.terminal import mmscore, one_message


@pytest.fixture
def files(tmp_path):
    """Write two predictions files, and a dataset that asks something else."""
    replies = choices(("A", "A"), ("B", "A"), question="Is it a cat?")
    asked = [{**row, "question": "Is it a dog?"} for row in replies]
    return (
        *(write_predictions(tmp_path / f"{name}.parquet", replies) for name in "ab"),
        write_predictions(tmp_path / "asked.parquet", [{**row, "prediction": None} for row in asked]),
    )


@pytest.mark.parametrize("command", ["score", "compare", "explain", "bundle"])
def test_other_questions_are_refused(files, tmp_path, command):
    a, b, asked = files
    more = {"compare": [b], "bundle": ["-o", tmp_path / "bundle"]}.get(command, [])
    shown = mmscore(command, a, *more, "--recipe", "own_choice", "--answers", asked)
    assert shown.code == 1
    assert "asked.parquet: 2 of 2 rows differ from" in one_message(shown, "mmscore")


@pytest.mark.parametrize("command", ["score", "compare", "explain"])
def test_they_are_scored_all_the_same_where_allowed_and_all_say_so(files, command):
    a, b, asked = files
    named = [a, b] if command == "compare" else [a]
    shown = mmscore(command, *named, "--recipe", "own_choice", "--answers", asked, "--allow-mismatch", "--json")
    assert shown.code == 0
    assert "2 of 2 rows differ" in shown.err
    found = json.loads(shown.out)
    entry = {"score": lambda: found["entries"][0], "compare": lambda: found["b"], "explain": lambda: found}[command]()
    assert "2 of 2 rows differ" in entry["messages"][0]
    assert command == "explain" or "|mismatch:2/2|" in entry["signature"]


def test_the_next_command_allows_it_too(files, tmp_path):
    a, _, asked = files
    options = ("--recipe", "own_choice", "--answers", asked, "--allow-mismatch")
    shown = mmscore(a, *options, "--csv", tmp_path / "table.csv")
    assert f"--answers {asked} --allow-mismatch" in shown.err.replace("\n", " ")
