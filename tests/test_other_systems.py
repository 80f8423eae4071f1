"""Both packages on a system without what only POSIX has, by the rules of `tests/support/windows_like`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "src/mmconvert/testing/demo/files"
RULES = ROOT / "tests/support/windows_like"
IMPORT_ALL = """
import importlib, os, pkgutil, signal
import mmconvert, mmscore

for package in (mmconvert, mmscore):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
            print(found.name)
"""


def run(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    # Output that is no terminal has the code page of the system there.
    environment = os.environ | {"PYTHONPATH": f"{RULES}{os.pathsep}{ROOT / 'src'}", "PYTHONIOENCODING": "cp1252"}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, encoding="cp1252")


FOLLOW_ALL = """
import sys
from importlib import import_module
for line in sys.argv[1:]:
    sys.argv = line.split()
    try:
        import_module(f"{sys.argv[0]}.cli").main()
    except SystemExit as end:
        if end.code:
            sys.exit(f"{line}: exit code {end.code}")
    print(chr(0), end="", flush=True)
"""


def follow(folder: Path, *lines: str) -> list[str]:
    """Run commands one after another in one process; give what each printed."""
    done = run(folder, "-c", FOLLOW_ALL, *(line.format(demo=DEMO) for line in lines))
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\0")[:-1]


@pytest.mark.slow
def test_every_module_is_imported(tmp_path: Path) -> None:
    done = run(tmp_path, "-W", "ignore", "-c", IMPORT_ALL)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 700


def test_the_rules_hold_for_modules_of_ours_alone(tmp_path: Path) -> None:
    code = """
import os, types
there = types.ModuleType("mmconvert.there")
asked = "import os; found = hasattr(os, 'fork'), hasattr(os, 'pwrite'), os.path.exists('/proc/self')"
exec(asked, vars(there))
print(there.found, hasattr(os, "fork"), os.path.exists("/proc/self"))
open("a", "w").close()
file = open("a")
for name, attempt in {
    "open folder": lambda: os.open(".", os.O_RDONLY),
    "sync": lambda: os.fsync(file.fileno()),
    "remove": lambda: os.remove("a"),
    "replace": lambda: os.replace("a", "b"),
    "name": lambda: open("aux.txt", "w"),
}.items():
    try:
        attempt()
    except OSError:
        print("no", name)
"""
    done = run(tmp_path, "-c", code)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "(False, False, False) True True",
        "no open folder",
        "no sync",
        "no remove",
        "no replace",
        "no name",
    ]


@pytest.mark.slow
def test_files_become_datasets_and_datasets_files(tmp_path: Path) -> None:
    inputs = "{demo}/vmcq/colours.tsv {demo}/lmudata/Colours.tsv"
    outputs = follow(
        tmp_path,
        f"mmconvert convert {inputs} -o data --workers 2 --json",
        f"mmconvert convert {inputs} -o data --overwrite",
        "mmconvert convert {demo}/llava/train.json -o chats --view sft",
        "mmconvert preview data -o page.html",
        "mmconvert stats data --html stats.html --json",
        "mmconvert dedupe data -o apart",
        "mmconvert mix one=data:1 two=data:1 -o mixed",
        "mmconvert split data -o parts --split-ratio train=0.5,val=0.5",
        "mmconvert export data --to lmudata -o out.tsv",
        "mmconvert export chats --to llava -o llava.json --images files",
        "mmconvert convert {demo}/vmcq/colours.tsv -o data --append --split more",
        "mmconvert verify data",
    )
    assert json.loads(outputs[0])["rows_written"] == 8
    assert {path.name for path in tmp_path.iterdir()} == {
        *("data", "chats", "apart", "mixed", "parts", "images"),
        *("page.html", "stats.html", "out.tsv", "llava.json"),
    }


@pytest.mark.slow
def test_predictions_are_made_and_scored(tmp_path: Path) -> None:
    outputs = follow(
        tmp_path,
        "mmconvert convert {demo}/vmcq/colours.tsv -o data",
        "mmscore predict data -o p.parquet --backend echo --model answer",
        "mmscore predict data -o p.parquet --backend echo --model answer --restart",
        "mmscore score p.parquet --recipe vlmevalkit_mcq --html report.html --rows rows.parquet --json",
        "mmscore compare p.parquet p.parquet --recipe vlmevalkit_mcq",
        "mmscore bundle p.parquet -o bundle --recipe vlmevalkit_mcq",
        "mmscore verify bundle",
    )
    assert json.loads(outputs[3])["entries"][0]["counts"]["scored"] == 4


def test_what_needs_processes_of_posix_says_so(tmp_path: Path) -> None:
    follow(tmp_path, "mmconvert convert {demo}/vmcq/colours.tsv -o data")
    done = run(tmp_path, "-m", "mmscore", *["predict", "data", "-o", "p.parquet", "--model", "m", "--serve", "python"])
    assert (done.returncode, done.stderr) == (
        2,
        "mmscore: --serve: works on Linux and macOS. Start the server yourself and give its --base-url.\n",
    )
