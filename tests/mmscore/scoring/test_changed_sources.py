"""Predictions or references that change while they are scored: no number is told, and no file is written."""

import shutil
from pathlib import Path

import pytest

from mmconvert.dataset import hub_upload
from mmconvert.pipeline import convert
from mmscore.analysis import bundle, explain
from mmscore.scoring import evaluate
from mmscore.workflow import rank
from support.changes import ACTIONS
from support.predictions import choices, write_predictions
from support.terminal import mmscore

SAYS = "changed while it was read. Run again."


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    rows = [{key: row[key] for key in ("id", "prediction")} for row in choices(("A", "A"), ("B", "A"), ("C", "C"))]
    return write_predictions(tmp_path / "p.parquet", rows)


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    rows = [{k: v for k, v in row.items() if k != "prediction"} for row in choices(("A", "A"), ("B", "A"), ("C", "C"))]
    return write_predictions(tmp_path / "a.parquet", rows)


def change(path: Path, action: str) -> None:
    exec(ACTIONS[action], {"os": __import__("os"), "path": str(path)})


def change_before(monkeypatch: pytest.MonkeyPatch, module: object, name: str, path: Path, action: str) -> None:
    """Have a file changed when a function is called."""
    function = getattr(module, name)

    def call(*arguments: object, **options: object) -> object:
        if not changed:
            changed.append(path)
            change(path, action)
        return function(*arguments, **options)

    changed: list[Path] = []
    monkeypatch.setattr(module, name, call)


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("subject", ["p.parquet", "a.parquet"])
def test_nothing_is_written_of_files_that_change(
    subject: str, action: str, predictions: Path, answers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_before(monkeypatch, evaluate, "score_rows", tmp_path / subject, action)
    files = {name: tmp_path / f"out.{name}" for name in ("output", "csv", "html", "rows")}
    named = [word for name, file in files.items() for word in (f"--{name}", file)]
    ended = mmscore("score", predictions, "--answers", answers, "--recipe", "own_choice", *named, "--quiet")
    assert (ended.code, ended.out) == (1, "")
    assert f"{tmp_path / subject}: {SAYS}" in ended.err
    assert not list(tmp_path.glob("*out*"))


@pytest.mark.parametrize("command", ["compare", "rank", "explain", "submit", "bundle"])
def test_every_command_that_writes_a_result_looks_again(
    command: str, predictions: Path, answers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if command == "rank":
        write_predictions(predictions, choices(("A", "A"), ("B", "A"), dataset="GQA", model="m"))
    other, out = shutil.copyfile(predictions, tmp_path / "q.parquet"), tmp_path / "out.json"
    hooks: dict[str, tuple[object, str]] = {
        "explain": (explain, "score_by_recipe"),
        "submit": (convert, "require_unchanged"),
        "bundle": (bundle, "list_numbers"),
        "rank": (rank, "to_csv"),
    }
    change_before(monkeypatch, *hooks.get(command, (evaluate, "score_rows")), predictions, "replaced")
    scoring = ("--answers", answers, "--recipe", "own_choice")
    words: dict[str, tuple[object, ...]] = {
        "compare": (predictions, other, *scoring, "--output", out),
        "rank": (predictions, "--by", "dataset", "--output", out),
        "explain": (predictions, *scoring, "--output", out),
        "submit": (predictions, "-o", tmp_path / "out.jsonl", "--to", "predictions"),
        "bundle": (predictions, *scoring, "-o", tmp_path / "out"),
    }
    ended = mmscore(command, *words[command])
    assert ended.code == 1, ended
    assert f"{predictions}: {SAYS}" in ended.err
    assert not list(tmp_path.glob("*out*"))


def test_predictions_that_change_behind_their_scores_are_not_pushed(
    predictions: Path, answers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed: list[object] = []
    monkeypatch.setattr(hub_upload, "push", lambda *arguments, **options: pushed.append(arguments))
    monkeypatch.setenv("HF_TOKEN", "hf_any")
    change_before(monkeypatch, __import__("mmscore.cli.score").cli.score, "format_lines", predictions, "appended")
    where = ("--push", "user/runs", "--quiet")
    ended = mmscore("score", predictions, "--answers", answers, "--recipe", "own_choice", *where)
    assert (ended.code, pushed) == (1, [])
    assert f"{predictions}: {SAYS}" in ended.err


def test_files_may_change_between_two_scores_of_a_process(predictions: Path, answers: Path) -> None:
    values = []
    for letter in "AB":
        rows = [{"id": str(n), "prediction": letter} for n in range(3)]
        write_predictions(predictions, rows)
        [entry] = evaluate.score(predictions, "own_choice", answers=str(answers)).entries
        values.append(entry.metrics["accuracy"].value)
    assert values == [pytest.approx(2 / 3), 0]
