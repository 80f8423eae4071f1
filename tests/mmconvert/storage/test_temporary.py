"""Temporary folders: those of killed runs go with the next one, those of others stay."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from mmconvert.storage.temporary import _clear_once, build_temporary_prefix, open_temporary_file

MAKE = "from mmconvert.storage.temporary import _clear_once, build_temporary_prefix as b; import tempfile, time; "
HOLD = MAKE + "print(tempfile.mkdtemp(prefix=b()), flush=True); time.sleep(60)"


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


HOLD_FILE = """
import sys, time
from pathlib import Path
from mmconvert.storage.temporary import _clear_once, open_temporary_file
with open_temporary_file(Path(sys.argv[1])) as file:
    print(file, flush=True)
    time.sleep(60)
"""


def hold(*program: str) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen([sys.executable, "-c", *(program or (HOLD,))], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_the_folder_of_a_killed_run_goes_and_that_of_a_living_one_stays(temporary: Path) -> None:
    killed, left = hold()
    living, kept = hold()
    (left / "picture").write_text("x")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    build_temporary_prefix()
    assert not left.exists()
    assert kept.exists()
    living.kill()
    living.wait()


def test_the_file_of_a_killed_run_goes_and_that_of_a_living_one_stays(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    folder.mkdir()
    killed, left = hold(HOLD_FILE, str(folder))
    living, kept = hold(HOLD_FILE, str(folder))
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    others = {"picture.png", ".picture.new", f".mmconvert-{'0' * 12}-1-5-abc"}
    for name in others:
        (folder / name).write_text("x")
    assert left.exists()
    with open_temporary_file(folder) as own:
        assert {path.name for path in folder.iterdir()} == {*others, kept.name, own.name}
        assert own.stat().st_mode & 0o777 == 0o644
    assert {path.name for path in folder.iterdir()} == {*others, kept.name}
    living.kill()
    living.wait()


def test_folders_of_others_and_links_stay(temporary: Path) -> None:
    own = build_temporary_prefix()
    machine = own.split("-")[1]
    elsewhere = temporary / f"mmconvert-{'0' * 12}-1-5-abc"
    strange = temporary / "mmconvert-notes"
    target = temporary / "target"
    for folder in (elsewhere, strange, target):
        folder.mkdir()
    (target / "file").write_text("kept")
    link = temporary / f"mmconvert-{machine}-999999999-5-abc"
    link.symlink_to(target)
    reused = temporary / f"mmconvert-{machine}-{os.getpid()}-1-abc"
    reused.mkdir()
    build_temporary_prefix()
    assert reused.exists()  # a process looks through a folder once: it may make thousands in it
    _clear_once.cache_clear()
    build_temporary_prefix()
    assert all(path.exists() for path in (elsewhere, strange, target / "file"))
    assert link.is_symlink()
    # Of a process that had our number before us.
    assert not reused.exists()
    assert re.fullmatch(r"mmconvert-[0-9a-f]{12}-\d+-\d+-", own)


@pytest.mark.slow
def test_a_run_that_was_killed_leaves_nothing_after_the_next(temporary: Path) -> None:
    command = [sys.executable, "-m", "mmconvert", "check", "-"]
    first = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    for _ in range(300):
        if list(temporary.glob("mmconvert-*")):
            break
        time.sleep(0.05)
    first.kill()
    first.wait()
    assert list(temporary.glob("mmconvert-*"))
    subprocess.run(command, input=b"a\tb\n1\t2\n", capture_output=True)
    assert not list(temporary.glob("mmconvert-*"))
