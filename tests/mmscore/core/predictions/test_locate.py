"""Predictions from standard input and from the Hub, as the user names them."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mmconvert.core.errors import Error, UsageError
from mmscore.core.predictions.locate import locate_predictions
from mmscore.scoring.evaluate import score
from support.hub_client import hub_client
from support.hub_repo import Blob, Repo
from support.predictions import choices, write_predictions
from support.terminal import mmscore, one_message

pytestmark = pytest.mark.slow

ROWS = choices(("A", "A"), ("B", "A"), ("C", "C"), ("hm", "B"))
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


@pytest.fixture
def parquet(tmp_path):
    return write_predictions(tmp_path / "p.parquet", ROWS).read_bytes()


@pytest.fixture
def feed(monkeypatch):
    def put(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return put


@pytest.fixture
def published(hub, parquet):
    """A dataset `user/preds-1.5` with predictions and a file that is no table."""
    repo = hub.repos["datasets/user/preds-1.5"] = Repo("user/preds-1.5", private=False)
    files = {"data/test-00000-of-00001.parquet": Blob(parquet, True), "notes.txt": Blob(b"not a table", False)}
    repo.commit("main", files, "new")
    hub.repos["datasets/user/texts"] = Repo("user/texts", private=False)
    hub.repos["datasets/user/texts"].commit("main", {"notes.txt": Blob(b"hello", False)}, "new")
    return hub


def accuracy(report_text):
    (entry,) = json.loads(report_text)["entries"]
    return entry["model"], entry["metrics"]["accuracy"]["value"], entry["predictions"]


def run(hub, home, *arguments, **more):
    command = [sys.executable, "-m", "mmscore", *arguments]
    environment = {**hub.environment(home), **more}
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=home, timeout=120, check=False)


def test_json_lines_and_parquet_from_standard_input_give_the_number_of_the_file(feed, parquet):
    for data in (LINES, parquet):
        feed(data)
        shown = mmscore("-", "--recipe", "own_choice", "--json", "--quiet")
        assert shown.code == 0, shown.err
        assert accuracy(shown.out) == ("stdin", 0.5, "-")


def test_references_may_come_from_standard_input_too(feed, tmp_path):
    bare = [{"id": row["id"], "prediction": row["prediction"]} for row in ROWS]
    file = write_predictions(tmp_path / "bare.parquet", bare)
    feed(b"".join(json.dumps(row).encode() + b"\n" for row in ROWS))
    (entry,) = score(file, "own_choice", answers="-").entries
    assert entry.metrics["accuracy"].value == 0.5


def test_a_pipe_reaches_the_program():
    command = [sys.executable, "-m", "mmscore", "-", "--recipe", "own_choice", "--json"]
    done = subprocess.run(command, input=LINES, capture_output=True, env=os.environ, timeout=60, check=False)
    assert done.returncode == 0
    assert accuracy(done.stdout)[1] == 0.5


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [(b"", 1, "stdin"), (b"no table at all\n", 1, "id"), (b'{"id": "1", "predicton": "A"}\n', 1, "prediction")],
)
def test_standard_input_that_is_no_predictions_file_is_one_message(feed, data, code, words):
    feed(data)
    shown = mmscore("-")
    assert words in one_message(shown, "mmscore")
    assert shown.code == code


def test_a_judge_needs_a_place_for_its_replies_to_standard_input(feed, monkeypatch):
    feed(LINES)
    shown = mmscore("-", "--recipe", "own_choice", "--judge", "own", "--dry-run")
    assert "--judge-cache" in one_message(shown, "mmscore")
    assert shown.code == 2


def test_a_dataset_on_the_hub_is_scored_by_its_name(published, tmp_path):
    done = run(published, tmp_path, "user/preds-1.5", "--recipe", "own_choice", "--json", "--quiet")
    assert done.returncode == 0, done.stderr
    assert accuracy(done.stdout) == ("preds-1.5", 0.5, "user/preds-1.5")
    assert not any("notes.txt" in line for line in published.requests)
    again = run(published, tmp_path, "hf://datasets/user/preds-1.5@main/data", "--recipe", "own_choice", "--json")
    assert accuracy(again.stdout)[1] == 0.5


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("user/none", 2, "no such file or folder, and no dataset of this name on the Hub"),
        ("user/preds-1.5@v9", 2, "no revision 'v9'"),
        ("user/texts", 1, "none of the formats of folders fits"),
    ],
)
def test_what_the_hub_does_not_have_is_one_message(published, tmp_path, name, code, words):
    done = run(published, tmp_path, name)
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_hub_that_cannot_be_asked_is_named(published, tmp_path):
    done = run(published, tmp_path, "user/preds-1.5", HF_HUB_OFFLINE="1")
    assert done.returncode == 1
    assert "the Hub cannot be reached" in done.stderr
    published.fail("GET|HEAD", 503)
    with hub_client(published.environment(tmp_path), cwd=tmp_path) as hub_process:
        code, _, err = hub_process("command", "mmscore", "user/preds-1.5")
    assert code == 1
    assert "Traceback" not in err


def test_what_cannot_be_a_hub_id_asks_nobody(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    for name in ("runs/model", "user/predictions.parquet", "a/b/c", "model", "../x"):
        with pytest.raises(UsageError, match="no such file or folder"):
            locate_predictions(name)
    with pytest.raises(Error, match="HF_HUB_OFFLINE"):
        locate_predictions("user/model")


def test_a_path_wins_over_a_hub_id(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("user/repo").mkdir(parents=True)
    assert locate_predictions("user/repo").path == Path("user/repo")
    assert locate_predictions("user/repo").title == "repo"


def test_a_format_can_be_named_where_the_content_does_not_say_it(tmp_path):
    file = tmp_path / "p.jsonl"
    file.write_bytes(LINES)
    asked = mmscore(file, "--recipe", "own_choice", "--format", "predictions", "--json")
    assert accuracy(asked.out)[1] == 0.5
    unknown = mmscore(file, "--recipe", "own_choice", "--format", "predictons")
    assert "Did you mean predictions" in one_message(unknown, "mmscore")
    assert unknown.code == 2


@pytest.mark.parametrize("command", ["score", "judge", "compare", "explain", "rank", "submit", "bundle"])
def test_every_command_that_hints_at_format_has_it(command):
    assert "--format" in mmscore(command, "--help").out


def test_a_submission_is_made_of_standard_input_too(feed, tmp_path):
    feed(b"".join(json.dumps({**row, "question": "q"}).encode() + b"\n" for row in ROWS))
    shown = mmscore("submit", "-", "--to", "mmbench", "-o", tmp_path / "s.xlsx", "--json")
    assert shown.code == 0, shown.err
    assert json.loads(shown.out)["rows"] == len(ROWS)
