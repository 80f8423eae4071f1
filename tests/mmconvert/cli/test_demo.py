"""`mmconvert demo`: what a newcomer sees first."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def test_the_demo_shows_scores_of_several_sizes_and_nothing_that_looks_like_an_error(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mmconvert", "demo", tmp_path / "demo"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    scores = {float(found) for found in re.findall(r"(\d+\.\d) % \[", done.stdout)}
    assert {0, 50, 100} <= scores
    shown = done.stdout + done.stderr
    assert not re.findall(r"(?im)^.*\b(?:error|warning|cannot|failed|invalid|mmscore:|mmconvert:).*$", shown)
    assert len(re.findall(r"^\$ mmscore predict", done.stdout, re.MULTILINE)) == 6
