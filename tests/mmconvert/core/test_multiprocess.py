"""A user's script runs once, whatever processes its calls start."""

import json
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


@pytest.mark.parametrize("typed", [True, pytest.param(False, marks=pytest.mark.release)])
@pytest.mark.slow
def test_a_script_without_a_guard_converts_in_several_processes(typed: bool, tmp_path: Path, repository: Path) -> None:
    demo = repository / "src/mmconvert/testing/demo/files"
    text = SCRIPT.format(files=[str(demo / "vmcq/colours.tsv"), str(demo / "lmudata/Colours.tsv")])
    (tmp_path / "t.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-"] if typed else [sys.executable, "t.py"]
    done = subprocess.run(command, input=text, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "begun\n8\n", "")


LOUD_FORMAT = """
from dataclasses import replace
from mmconvert.formats.predictions import FORMAT as PREDICTIONS

def rows(path, span):
    print("reading")
    return PREDICTIONS.rows(path, span)

FORMAT = replace(PREDICTIONS, rows=rows)
"""

# Arrow, loaded before the program begins, starts a thread, so that children are spawned.
IN_PARTS = """
from mmconvert.pipeline import parts
parts.SMALL_FILE, parts.PART_BYTES = 10, 40
from mmconvert.cli import main
main()
"""


@pytest.mark.slow
def test_what_plug_ins_print_in_a_child_stands_beside_the_result(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(LOUD_FORMAT)
    (tmp_path / "in.tsv").write_text("id\tprediction\n" + "".join(f"{number}\ta\n" for number in range(40)))
    arguments = ["convert", "in.tsv", "-o", "out", "--format", "loud.py@FORMAT", "--workers", "3", "--json"]
    done = subprocess.run([sys.executable, "-c", IN_PARTS, *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr.count("reading") > 3
    assert json.loads(done.stdout)["rows_written"] == 40


WHO_RUNS = """
import os, time

def who(_):
    time.sleep(0.2)
    return os.getpid()
"""
RUN = """
import os, who
from mmconvert.pipeline.engines.local import open_crew
with open_crew(3) as run:
    print(*run(who.who, range(3)), os.getpid())
"""


def test_children_that_are_there_get_the_first_tasks(tmp_path: Path) -> None:
    (tmp_path / "who.py").write_text(WHO_RUNS)
    ended = subprocess.run([sys.executable, "-c", RUN], cwd=tmp_path, capture_output=True, text=True, check=True)
    first, second, third, caller = ended.stdout.split()
    assert third == caller
    assert caller not in (first, second)
