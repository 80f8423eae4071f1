"""`mmscore pairs`: what it prints, writes and refuses."""

import json
import subprocess
import sys

from mmconvert.dataset.dataset import open_dataset
from mmscore.cli import program
from support.asking import Says, asked, written
from support.questions import make_image, record


def make_files(folder):
    rows = [record(n, make_image("red"), f"Question {n}?", answer="yes", task="vqa") for n in range(3)]
    place = written(folder / "data", rows)
    words = [["yes", "no"], ["yes", "yes"], ["<b>", "yes"]]
    asked(place, folder / "p.parquet", Says(lambda row: words[int(row.sample)][row.variant or 0]), n=2)
    return [str(folder / "p.parquet"), "--answers", str(place), "--recipe", "own_short_answer"]


def run(*words):
    done = subprocess.run([sys.executable, "-m", "mmscore", *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_it_says_what_was_kept_and_why_the_rest_was_not(tmp_path):
    files = make_files(tmp_path)
    code, out, err = run("pairs", *files, "-o", str(tmp_path / "out"))
    assert code == 0, err
    assert out.splitlines() == [
        f"{tmp_path / 'out'}: 2 preference pairs, from 3 questions (accuracy of own_short_answer@1)",
        "questions left out: 1 with equal scores",
    ]
    assert err.split() == ["next:", "mmconvert", "export", str(tmp_path / "out"), "--to", "trl", "-o", "trl.json"]
    assert [row.id for row in open_dataset(tmp_path / "out").records("train")] == ["0", "2"]
    code, _, err = run("pairs", *files, "-o", str(tmp_path / "out"))
    assert code == 2
    assert "already exists. Give --overwrite" in err


def test_it_prints_json(tmp_path):
    code, out, _ = run("pairs", *make_files(tmp_path), "-o", str(tmp_path / "out"), "--keep", "right", "--json")
    found = json.loads(out)
    assert (code, found["rows"], found["used"], found["tied"]) == (0, 3, 3, 0)


def test_it_is_a_command():
    assert "pairs" in program.commands_in
