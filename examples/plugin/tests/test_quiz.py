"""The format keeps its promises; the recipe finds the reply."""

from pathlib import Path

import mmscore
from mmconvert.testing import find_breaches

FILES = Path(__file__).parent / "files"


def test_the_format_keeps_its_promises():
    assert find_breaches("formats", "quiz", [FILES / "quiz.jsonl"]) == []


def test_a_response_is_right_if_it_names_the_reply(tmp_path):
    file = tmp_path / "predictions.jsonl"
    file.write_text(
        '{"id": "1", "answer": "red", "prediction": "It is Red."}\n'
        '{"id": "2", "answer": "red", "prediction": "It bored me."}\n'
    )
    report = mmscore.score(file, recipe="quiz_reply")
    assert report.entries[0].metrics["accuracy"].value == 0.5
