"""What the live view finds below a folder, and what it never does there."""

import json
import os
import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmconvert.core.errors import Error
from mmscore.api import predict, score
from mmscore.llm.cache_lock import hold
from mmscore.llm.response_cache import Answer, AnswerStore, failed, read_progress, store_path
from mmscore.reporting.live import runs
from mmscore.reporting.live.runs import Folder
from support.datasets_on_disk import record, write_dataset
from support.predictions import choices, write_predictions


def predictions(folder, name="a", **columns):
    (folder / name).mkdir(parents=True, exist_ok=True)
    columns = {"model": name, "dataset": "Shapes", "prediction_status": "ok", **columns}
    return write_predictions(folder / name / "predictions.parquet", choices(("A", "A"), ("B", "A")), **columns)


def look(folder):
    return Folder(folder.resolve()).look()


def begin_store(folder, rows=10, run=True):
    """Make the store of a run that has three answers and a failure."""
    output = folder / "b" / "predictions.parquet"
    output.parent.mkdir(parents=True, exist_ok=True)
    about = {"rows": rows, "model": "m", "dataset": "Shapes"} if run else None
    held = hold(store_path(output))
    store = AnswerStore(held.__enter__(), fingerprint="f", run=about)
    store.__enter__().put([*((f"k{n}", Answer(text="A")) for n in range(3)), ("k4", failed("no"))])
    return held, store


def end_store(held, store):
    store.__exit__(None, None, None)
    held.__exit__(None, None, None)


def test_a_finished_run_says_model_dataset_and_samples(tmp_path):
    predictions(tmp_path)
    (run,) = look(tmp_path)["runs"]
    assert (run["key"], run["status"], run["model"], run["dataset"]) == (
        "a/predictions.parquet", "finished", "a", "Shapes",
    )  # fmt: skip
    assert (run["done"], run["total"], run["failed"], run["has_predictions"]) == (2, 2, 0, True)


def test_a_run_under_way_says_how_far_it_is_and_a_stopped_one_that_it_stopped(tmp_path):
    held, store = begin_store(tmp_path)
    (run,) = look(tmp_path)["runs"]
    assert (run["status"], run["done"], run["failed"], run["total"]) == ("running", 4, 1, 10)
    assert (run["model"], run["dataset"], run["has_predictions"]) == ("m", "Shapes", False)
    end_store(held, store)
    (run,) = look(tmp_path)["runs"]
    assert (run["status"], run["done"], run["total"]) == ("stopped", 4, 10)


def test_a_store_with_answers_of_other_settings_is_never_more_than_whole(tmp_path):
    end_store(*begin_store(tmp_path, rows=2))
    assert look(tmp_path)["runs"][0]["done"] == 2


def test_a_store_of_an_older_release_says_what_it_holds_without_a_total(tmp_path):
    end_store(*begin_store(tmp_path, run=False))
    (run,) = look(tmp_path)["runs"]
    assert (run["done"], run["total"]) == (4, None)


def test_an_interrupted_run_is_partial_of_its_samples(tmp_path):
    file = predictions(tmp_path)
    told = json.dumps({"rows": 5, "partial": True, "interrupted": True})
    pq.write_table(pq.read_table(file).replace_schema_metadata({"mmscore.run": told}), file)
    (run,) = look(tmp_path)["runs"]
    assert (run["status"], run["done"], run["total"]) == ("partial", 2, 5)


def test_reports_give_their_scores(tmp_path):
    file = predictions(tmp_path)
    report = score(file, "own_choice", output=tmp_path / "a" / "report.json")
    (entry,) = look(tmp_path)["reports"]
    metric = report.entries[0].metrics["accuracy"]
    assert (entry["key"], entry["recipe"], entry["metric"]) == ("a/report.json", "own_choice", "accuracy")
    assert (entry["value"], entry["n"], entry["ci95"]) == (metric.value, 2, list(metric.ci95))


def test_looking_changes_nothing_in_the_folder(tmp_path):
    predictions(tmp_path)
    end_store(*begin_store(tmp_path))
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")}
    look(tmp_path)
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")} == before


def test_a_file_that_has_not_changed_is_not_read_again(tmp_path, monkeypatch):
    predictions(tmp_path)
    read = []
    monkeypatch.setattr(runs, "_read_predictions", lambda file: read.append(file) or None)
    folder = Folder(tmp_path)
    for _ in range(3):
        folder.look()
    assert len(read) == 1


def test_links_hidden_folders_datasets_and_other_tables_are_no_runs(tmp_path):
    outside = predictions(tmp_path / "outside")
    inside = tmp_path / "inside"
    predictions(inside / ".hidden")
    (inside / "link.parquet").symlink_to(outside)
    (inside / "folder").symlink_to(outside.parent)
    pq.write_table(pa.table({"id": ["1"], "prediction": ["A"], "images": [["x"]]}), inside / "dataset.parquet")
    pq.write_table(pa.table({"a": [1]}), inside / "table.parquet")
    assert look(inside)["runs"] == []


def test_a_file_that_was_swapped_for_a_link_is_not_given_out(tmp_path):
    secret = predictions(tmp_path / "secret")
    file = predictions(tmp_path / "runs")
    folder = Folder((tmp_path / "runs").resolve())
    folder.look()
    assert folder.find_predictions("a/predictions.parquet") == file
    file.unlink()
    file.symlink_to(secret)
    assert folder.find_predictions("a/predictions.parquet") is None
    for other in ("../secret/a/predictions.parquet", str(secret), "", "b"):
        assert folder.find_predictions(other) is None


@pytest.mark.parametrize(
    "text",
    [
        "not JSON", '{"schema_version": 1, "entries": {}}', '{"schema_version": 1, "entries": [1, null, "x"]}',
        '{"schema_version": 1, "entries": [{"metrics": {"a": {"value": "x", "ci95": [1]}}, "counts": []}]}',
        '{"schema_version": 1, "entries": ' + "[" * 100_000,
    ],
)  # fmt: skip
def test_a_report_that_is_none_is_passed_over(tmp_path, text):
    (tmp_path / "report.json").write_text(text)
    assert look(tmp_path)["reports"] == []


def test_a_damaged_predictions_file_is_named(tmp_path):
    (tmp_path / "predictions.parquet").write_bytes(b"PAR1" + os.urandom(50))
    (run,) = look(tmp_path)["runs"]
    assert (run["status"], run["has_predictions"]) == ("cannot be read", False)
    assert "damaged" in run["problem"]


def test_recipes_of_a_report_are_plain_names_alone(tmp_path):
    file = predictions(tmp_path)
    score(file, "own_choice", output=tmp_path / "a" / "report.json")
    told = json.loads((tmp_path / "a" / "report.json").read_text())
    evil = {**told["entries"][0], "recipe": f"{tmp_path}/evil.py@RECIPE"}
    (tmp_path / "a" / "report.json").write_text(json.dumps({**told, "entries": [*told["entries"], evil]}))
    folder = Folder(tmp_path)
    folder.look()
    assert folder.list_recipes("a/predictions.parquet") == ["own_choice"]


@pytest.mark.parametrize(
    "script",
    [
        "CREATE VIEW answers AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS key FROM c",
        "CREATE TABLE answers (key, status, answer); CREATE TRIGGER t AFTER INSERT ON answers BEGIN SELECT 1; END",
        "CREATE TABLE other (a)",
    ],
)
def test_a_store_of_a_stranger_is_refused_and_runs_nothing(tmp_path, script):
    path = tmp_path / "predictions.parquet.answers.sqlite"
    with sqlite3.connect(path) as db:
        db.executescript(script)
    db.close()
    with pytest.raises(Error, match="not a store of answers"):
        read_progress(path)
    assert look(tmp_path)["runs"][0]["status"] == "cannot be read"


def test_a_folder_of_too_many_files_says_so(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(runs, "MAX_FILES", 3)
    for n in range(5):
        (tmp_path / f"{n}.txt").touch()
    assert look(tmp_path)["left_out"] is True


def test_a_run_of_predict_is_seen_while_it_works(tmp_path):
    dataset = write_dataset(tmp_path / "data", {"test": [record(n) for n in range(5)]})
    seen = []

    def respond(records):
        seen.append(look(tmp_path / "out")["runs"][0])
        return ["A"] * len(records)

    (tmp_path / "out").mkdir()
    predict(dataset, tmp_path / "out" / "predictions.parquet", backend=respond, batch_size=1)
    assert [(run["status"], run["done"], run["total"]) for run in seen] == [("running", n, 5) for n in range(5)]
    assert seen[0]["dataset"] == "data"
    (run,) = look(tmp_path / "out")["runs"]
    assert (run["status"], run["done"], run["failed"]) == ("finished", 5, 0)
