"""What the pages say of systems and Python versions is what the project declares and its workflow runs."""

import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.static

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/install.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
SCRIPT = runpy.run_path(str(ROOT / "scripts/platforms"))
JOBS = yaml.safe_load((ROOT / ".github/workflows/checks.yml").read_text("utf-8"))["jobs"]


def test_every_python_that_is_declared_is_checked_and_in_the_workflow() -> None:
    rows = [row.strip("| ").split(" | ") for row in SCRIPT["TABLE"].search(PAGE)[0].splitlines()[2:]]
    assert [row[0] for row in rows] == SCRIPT["VERSIONS"] == JOBS["test"]["strategy"]["matrix"]["python"]
    assert PROJECT["requires-python"] == f">={SCRIPT['VERSIONS'][0]}"
    for row in rows:
        assert row[1:3] == ["passes", "passes"]
        assert all(re.fullmatch(r"\d+, \d+", cell) for cell in row[3:]), row


def test_every_system_that_is_declared_is_checked_and_in_the_workflow() -> None:
    declared = {name.rpartition(" :: ")[2] for name in PROJECT["classifiers"] if "Operating System" in name}
    assert {system.lower() for system in SCRIPT["SYSTEMS"]} == {system.lower() for system in declared}
    assert len(JOBS["install"]["strategy"]["matrix"]["os"]) == len(declared)


def test_the_page_says_what_is_tested() -> None:
    table = PAGE.partition("## Platforms")[2].partition("- **tested**")[0]
    rows = [row.strip("| ").split(" | ") for row in table.splitlines() if row.startswith("|")][2:]
    assert [row[0].partition(" ")[0] for row in rows] == list(SCRIPT["SYSTEMS"])
    assert {cell for row in rows for cell in row[1:]} == {"tested", "expected"}


def test_every_text_file_is_opened_in_an_encoding_that_is_named() -> None:
    # Windows has another one where none is. As a rule of pyproject.toml it would bring other rules that ruff tries out.
    rule = ("check", "--isolated", "--no-cache", "--preview", "--select", "PLW1514", "src", "examples")
    done = subprocess.run([Path(sys.executable).with_name("ruff"), *rule], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
