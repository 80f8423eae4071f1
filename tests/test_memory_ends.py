"""Memory that runs out ends a program with one sentence: the file, what to do, exit code 1."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.unfolding import MB, WRITERS

pytestmark = pytest.mark.slow

CHILD = """
import importlib, re, resource, sys
program, room, *arguments = sys.argv[1:]
main = importlib.import_module(f"{program}.cli").main
# What a run loads is there before memory becomes scarce.
import pandas, pyarrow
from mmconvert.plugins.registry import load_all
for group in ("mmconvert.formats", "mmconvert.engines", "mmscore.recipes", "mmscore.parsers", "mmscore.metrics"):
    list(load_all(group))
for name in ("mmconvert.cli.convert", "mmconvert.cli.check", "mmscore.cli.score"):
    importlib.import_module(name)
pyarrow.array(["x"]).to_pylist()
used = int(re.search(r"VmSize:\\s+(\\d+)", open("/proc/self/status").read())[1]) << 10
resource.setrlimit(resource.RLIMIT_AS, (used + int(room), used + int(room)))
sys.argv = [program, *arguments]
main()
"""


def run(program: str, room: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", CHILD, program, str(room), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say what a program uses")
@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("mmconvert", ("convert", "-o", "out", "--format", "predictions", "--workers", "1", "--quiet")),
        ("mmscore", ("score", "--recipe", "own_short_answer")),
    ],
)
@pytest.mark.parametrize("name", ["jsonl_extra", pytest.param("tsv_cell", marks=pytest.mark.release)])
def test_memory_that_runs_out_is_told_in_one_sentence(
    program: str, arguments: tuple[str, ...], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = WRITERS[name](tmp_path, 28 * MB)
    ended = run(program, 48 * MB, *arguments[:1], path, *arguments[1:])
    assert "Traceback" not in ended.stderr
    assert ended.returncode == 1, ended.stderr
    assert ended.stderr.startswith(f"{program}: {path}")
    assert "memory ran out while it was read. Split the file, or give the program more memory." in ended.stderr
    assert not (tmp_path / "out").exists()


PLUGIN = """
from mmconvert.io import jsonl
from mmconvert.plugins.format import Format

def records(row, context):
    raise ERROR

FORMAT = Format("runs out of memory", (".jsonl",), jsonl.rows, records, lambda sample: None)
"""


@pytest.mark.parametrize("command", [("convert", "-o", "out"), ("check",)])
@pytest.mark.parametrize(
    "error",
    [
        "pyarrow.lib.ArrowMemoryError('malloc of size 64 failed')",
        *(pytest.param(error, marks=pytest.mark.release) for error in ("MemoryError()", "OSError(12, 'no memory')")),
    ],
)
def test_an_error_that_only_says_so_is_told_alike(
    command: tuple[str, ...], error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plugin.py").write_text("import pyarrow\n" + PLUGIN.replace("ERROR", error))
    Path("a.jsonl").write_text('{"id": "1"}\n')
    program = [sys.executable, "-m", "mmconvert", *command, "a.jsonl", "--format", "plugin.py@FORMAT"]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=300)
    assert (ended.returncode, "Traceback" in ended.stderr) == (1, False), ended.stderr
    said = ended.stdout + ended.stderr
    assert "a.jsonl" in said
    assert "memory ran out while it was read. Split the file" in said
