"""`--log`: each tracker's own library has the scores, the table and the report; one that fails loses none."""

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from mmconvert.core.errors import UsageError
from mmscore.core.report import Entry
from mmscore.reporting import track
from mmscore.reporting.tracker import Tracker, build_tracked_score
from mmscore.scoring.evaluate import score
from support.packages import needs
from support.predictions import choices, write_predictions

KEY = "Colours/own_choice/accuracy"


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    rows = [{**row, "model": "org/m", "dataset": "Colours"} for row in choices(("A", "A"), ("B", "A"), ("C", "C"))]
    return Path(write_predictions(tmp_path / "a.parquet", rows))


@pytest.fixture
def entry(answers: Path) -> Entry:
    return score(answers, "own_choice", by="task").entries[0]


def mmscore(folder: Path, *words: object, **environment: str) -> tuple[int, str, str]:
    """Run the command as a user does: the libraries start processes of their own and read variables when imported."""
    command = [sys.executable, "-c", "from mmscore.cli import main; main()", *map(str, words)]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_a_score_has_its_interval_and_number_of_samples(entry: Entry) -> None:
    found = build_tracked_score(entry, {"generation": {"seed": 1}}, "p")
    assert found.scores[KEY] == pytest.approx(2 / 3)
    assert found.scores[f"{KEY}.ci_low"] < found.scores[KEY] < found.scores[f"{KEY}.ci_high"]
    assert found.scores[f"{KEY}.n"] == 3
    assert (found.config["signature"], found.config["run.generation.seed"]) == (entry.signature, 1)
    assert any(row[found.columns.index("group")] == "task" for row in found.table)
    assert json.loads(found.report)["entries"][0]["signature"] == entry.signature


@needs("tensorboardX", "tensorboard")
def test_tensorboard_reads_the_scores(tmp_path: Path, answers: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    code, out, err = mmscore(tmp_path, answers, "--recipe", "own_choice", "--json", "--log", "tensorboard")
    assert (code, "tensorboard: org/m Colours own_choice@1 logged: " in err) == (0, True), err
    accuracy = json.loads(out)["entries"][0]["metrics"]["accuracy"]["value"]
    [folder] = (tmp_path / "tensorboard" / "mmscore").iterdir()
    read = EventAccumulator(str(folder))
    read.Reload()
    assert read.Scalars(KEY)[0].value == pytest.approx(accuracy)
    [text] = read.Tensors("scores/text_summary")
    assert "accuracy" in text.tensor_proto.string_val[0].decode()


@needs("mlflow")
def test_mlflow_has_metrics_parameters_and_artifacts(tmp_path: Path, answers: Path) -> None:
    place = (tmp_path / "store").as_uri()
    code, out, err = mmscore(
        *(tmp_path, answers, "--recipe", "own_choice", "--json", "--log", "mlflow", "--log-project", "mine"),
        MLFLOW_TRACKING_URI=place,
        MLFLOW_ALLOW_FILE_STORE="true",
    )
    assert (code, "mlflow: org/m Colours own_choice@1 logged: experiment mine" in err) == (0, True), err
    entry = json.loads(out)["entries"][0]
    [run] = [path.parent for path in (tmp_path / "store").rglob("meta.yaml") if (path.parent / "metrics").is_dir()]
    assert float((run / "metrics" / KEY).read_text().split()[1]) == entry["metrics"]["accuracy"]["value"]
    assert (run / "params" / "signature").read_text() == entry["signature"]
    artifacts = Path(yaml.safe_load((run / "meta.yaml").read_text())["artifact_uri"].removeprefix("file://"))
    assert json.loads((artifacts / "report.json").read_text())["entries"] == [entry]
    assert (artifacts / "scores.csv").read_text().startswith("model,dataset,recipe")


def read_wandb_records(data: bytes) -> list[bytes]:
    """Read a run's file: a log of LevelDB's form, in blocks of 32 KiB, behind a heading of 7 bytes."""
    records, place, part = [], 7, b""
    while place + 7 <= len(data):
        if 32768 - place % 32768 < 7:
            place += 32768 - place % 32768
            continue
        _, length, kind = struct.unpack_from("<IHB", data, place)
        part += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or the last of its parts
            records.append(part)
            part = b""
    return records


@needs("wandb")
def test_wandb_offline_keeps_a_run(tmp_path: Path, answers: Path) -> None:
    from wandb.proto import wandb_internal_pb2

    code, _, err = mmscore(
        *(tmp_path, answers, "--recipe", "own_choice", "--log", "wandb", "--log-project", "mine"),
        WANDB_MODE="offline",
        WANDB_DIR=str(tmp_path),
    )
    assert (code, "wandb: org/m Colours own_choice@1 logged: " in err) == (0, True), err
    [file] = tmp_path.rglob("*.wandb")
    texts, projects = {}, []
    for data in read_wandb_records(file.read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        projects += [record.run.project] if record.run.project else []
        for item in record.history.item:
            texts[item.key or "/".join(item.nested_key)] = item.value_json
    assert (set(projects), json.loads(texts[KEY])) == ({"mine"}, pytest.approx(2 / 3))
    assert json.loads(texts["scores/_type"]) == "table-file"


@needs("trackio")
def test_trackio_has_the_scores_in_its_own_folder(tmp_path: Path, answers: Path) -> None:
    import sqlite3

    code, out, err = mmscore(
        *(tmp_path, answers, "--recipe", "own_choice", "--json", "--log", "trackio", "--log-project", "mine"),
        TRACKIO_DIR=str(tmp_path / "trackio"),
    )
    assert (code, "trackio: org/m Colours own_choice@1 logged: project mine" in err) == (0, True), err
    with sqlite3.connect(tmp_path / "trackio" / "mine.db") as base:
        [[metrics]] = base.execute("select metrics from metrics").fetchall()
        [[config]] = base.execute("select config from configs").fetchall()
    entry = json.loads(out)["entries"][0]
    assert json.loads(metrics)[KEY] == entry["metrics"]["accuracy"]["value"]
    assert json.loads(config)["signature"] == entry["signature"]


@needs("mlflow")
def test_a_tracker_that_fails_loses_no_score(tmp_path: Path, answers: Path) -> None:
    code, _, err = mmscore(
        *(tmp_path, answers, "--recipe", "own_choice", "-o", tmp_path / "report.json", "--log", "mlflow"),
        MLFLOW_TRACKING_URI="http://127.0.0.1:9",
        MLFLOW_HTTP_REQUEST_MAX_RETRIES="0",
    )
    assert (code, "mlflow: org/m Colours own_choice@1 could not be logged (" in err) == (0, True), err
    assert json.loads((tmp_path / "report.json").read_text())["entries"][0]["recipe"] == "own_choice"


def test_what_was_logged_is_not_logged_again_and_what_failed_is(tmp_path: Path, entry: Entry) -> None:
    tries, told = [], []

    def log(found: object) -> str:
        tries.append(found)
        if len(tries) == 1:
            raise RuntimeError("no server")
        return "here"

    for _ in range(3):
        track.log_scores([Tracker("t", "t", log)], [(entry, {})], "p", told.append, logged=tmp_path / "logged.json")
    assert len(tries) == 2
    assert ["could not be logged (no server)" in told[0], told[1].endswith("logged: here")] == [True, True]


def test_a_tracker_that_is_not_installed_names_the_line_that_installs_it() -> None:
    with pytest.raises(UsageError, match=r'pip install "mmconvert\[mine\]"'):
        Tracker("mine", "no_such_package_here", str).require()
    with pytest.raises(UsageError, match="Known: wandb, trackio, mlflow, tensorboard"):
        track.choose_trackers(["tensorboard", "wandbb"])


@needs("tensorboardX")
def test_a_run_of_a_task_is_logged_once(tmp_path: Path) -> None:
    rows = ({"id": str(n), "question": "Which?", "answer": "A", "options": ["a", "b"]} for n in range(3))
    (tmp_path / "quiz.jsonl").write_text("\n".join(map(json.dumps, rows)))
    task = {
        "datasets": [{"input": "quiz.jsonl", "recipes": ["own_choice"]}],
        "models": [{"model": "answer", "backend": "echo", "name": "m"}],
    }
    (tmp_path / "task.json").write_text(json.dumps(task))
    for _ in range(2):
        code, _, err = mmscore(tmp_path, "run", "task.json", "-w", "runs", "--log", "tensorboard", "--quiet")
        assert code == 0, err
    assert len([*(tmp_path / "tensorboard" / "mmscore").iterdir()]) == 1
    assert len(json.loads((tmp_path / "runs" / "m" / "quiz" / "logged.json").read_text())) == 1
