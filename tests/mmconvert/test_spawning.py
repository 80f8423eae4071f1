"""A user's script runs once, whatever processes its calls start."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import mmconvert
print("begun")
files = {files!r}
print(mmconvert.convert(files, "out", workers=2).rows_written)
"""


@pytest.mark.parametrize("typed", [False, True])
def test_a_script_without_a_guard_converts_in_several_processes(typed: bool, tmp_path: Path, repository: Path) -> None:
    demo = repository / "src/mmconvert/demo/files"
    text = SCRIPT.format(files=[str(demo / "vmcq/colours.tsv"), str(demo / "lmudata/Colours.tsv")])
    (tmp_path / "t.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-"] if typed else [sys.executable, "t.py"]
    done = subprocess.run(command, input=text, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "begun\n8\n", "")
