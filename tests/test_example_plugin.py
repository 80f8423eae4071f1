"""The example of a plug-in package is built, installed and used by name."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.wheels import install_package

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples/plugin"
QUIZ = EXAMPLE / "tests/files/quiz.jsonl"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables of a process that finds the package, as one that was installed."""
    folder = tmp_path_factory.mktemp("plugin")
    # Beside the sources nothing is built.
    source = shutil.copytree(EXAMPLE, folder / "source", ignore=shutil.ignore_patterns("__pycache__", ".*"))
    return install_package(source, folder / "installed")


def run(environment: dict[str, str], folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_it_is_listed_converts_and_scores(environment: dict[str, str], tmp_path: Path) -> None:
    for program, kind, name in (("mmconvert", "formats", "quiz"), ("mmscore", "recipes", "quiz_reply")):
        listed = json.loads(run(environment, tmp_path, "-m", program, "list", kind, "--json").stdout)[kind]
        [found] = [one for one in listed if one["name"] == name]
        assert found["origin"] == "mmconvert-quiz"
        assert found["summary"]
    summary = run(environment, tmp_path, "-m", "mmconvert", "convert", QUIZ, "-o", "data", "--json")
    assert json.loads(summary.stdout)["rows_written"] == 3, summary.stderr
    predict = ("predict", "data", "-o", "p.parquet", "--backend", "echo", "--model", "answer")
    assert run(environment, tmp_path, "-m", "mmscore", *predict).returncode == 0
    report = json.loads(run(environment, tmp_path, "-m", "mmscore", "p.parquet", "--json").stdout)
    [entry] = report["entries"]
    assert (entry["recipe"], entry["metrics"]["accuracy"]["value"]) == ("quiz_reply", 1.0)
    back = run(environment, tmp_path, "-m", "mmconvert", "export", "data", "--to", "quiz", "-o", "out.jsonl")
    assert back.returncode == 0, back.stderr
    rows, expected = (
        [json.loads(line) for line in file.read_text().splitlines()] for file in (Path(tmp_path, "out.jsonl"), QUIZ)
    )
    assert [row["reply"] for row in rows] == [row["reply"] for row in expected]


@pytest.mark.release
def test_its_own_tests_pass(environment: dict[str, str], tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE / "tests", tmp_path / "tests")
    done = run(environment, tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_the_page_shows_the_format() -> None:
    page = (ROOT / "docs/plugins.md").read_text("utf-8").partition("## A format")[2]
    shown = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]
    assert shown == (EXAMPLE / "src/mmconvert_quiz/format.py").read_text("utf-8")
