"""Judging from the command line: three rows, a judge that knows them, and `mmscore` run in this process."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mmconvert.console.app import run as run_program
from mmscore.cli import program
from support.chat_server import Said, said
from support.predictions import write_predictions

ROWS = [
    {"id": "same", "question": "What?", "prediction": "a cat", "answer": "cat"},
    {"id": "other_words", "question": "What?", "prediction": "a kitten", "answer": "cat"},
    {"id": "wrong", "question": "What?", "prediction": "a dog", "answer": "cat"},
]
VERDICTS = {"a cat": "correct", "a kitten": "correct", "a dog": "incorrect", "a kitten!": "incorrect"}
OWN = ("--recipe", "own_short_answer", "--judge", "own")


def make_runner(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Give what runs `mmscore` in this process: exit code, standard output and standard error."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-shown")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            run_program(program, [str(a) for a in arguments], program="mmscore")
        out, err = capfd.readouterr()
        assert "sk-never-shown" not in out + err
        return caught.value.code, out, err

    return call


def write_rows(folder: Path) -> Path:
    return write_predictions(folder / "p.parquet", ROWS, task="vqa")


def find_answer(prompt: str) -> str:
    return re.search(r"<answer-(\w+)>\n(.*)\n</answer-\1>", prompt, re.DOTALL)[2]


def grade(request: dict[str, Any]) -> Said:
    """Answer as a judge that knows the rows."""
    return said(json.dumps({"reason": "r", "verdict": VERDICTS[find_answer(request["messages"][-1]["content"])]}))


def only_entry(out: str) -> dict[str, Any]:
    (entry,) = json.loads(out)["entries"]
    return entry
