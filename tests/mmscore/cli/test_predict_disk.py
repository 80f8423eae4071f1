"""A disk that is full ends a run with what is needed, and the run goes on when there is room."""

import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mmscore.llm.response_cache import store_path
from support.asking import written
from support.questions import record

pytestmark = pytest.mark.slow

PROGRAM = [sys.executable, "-c", "from mmscore.cli import main; main()", "predict"]
ROWS = 60
REPLY = 20_000
"""Characters; a reply is kept in the store, which does not compress."""
NEED = 4 * ROWS * REPLY
"""Bytes that are certainly enough: log, database and predictions file."""


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [record(i, f"{i} " + os.urandom(REPLY // 2).hex()) for i in range(ROWS)]
    return written(tmp_path_factory.mktemp("data") / "d", rows)


@pytest.fixture(scope="module")
def whole(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    output = tmp_path_factory.mktemp("whole") / "p.parquet"
    assert predict(dataset, output).returncode == 0
    return output.read_bytes()


def predict(dataset: Path, output: Path, limit: int | None = None) -> "subprocess.CompletedProcess[str]":
    """Predict in a process of its own, whose files may grow to a limit."""

    def limited() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    words = (dataset, "-o", output, "--backend", "echo", "--model", "prompt:batch=4", "--quiet", "--json", "--resume")
    # A limit would cut compiled modules too, for every later run.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    program = [*PROGRAM, *map(str, words)]
    return subprocess.run(program, capture_output=True, text=True, preexec_fn=limited, env=environment)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Mount a disk of a size in bytes, or give the one that is mounted another size."""
    place = tmp_path / "disk"
    place.mkdir()

    def sized(size: int) -> Path:
        again = "remount," if os.path.ismount(place) else ""
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"{again}size={size}", "tmpfs", place])
        if mounted.returncode:
            pytest.skip("mounting is refused here; the limit on files stands in")
        return place

    yield sized
    if os.path.ismount(place):
        subprocess.run(["umount", place], check=True)


def stopped(full: "subprocess.CompletedProcess[str]", output: Path) -> None:
    """Check a run that a full disk has ended."""
    assert (full.returncode, full.stdout) == (1, "")
    assert "Traceback" not in full.stderr
    assert len(full.stderr.splitlines()) == 1
    assert {file.name for file in output.parent.iterdir()} <= {
        store_path(output).name + end for end in ("", "-wal", "-shm", "-journal")
    }


def goes_on(rest: "subprocess.CompletedProcess[str]", output: Path, whole: bytes) -> int:
    """Check the run after there was room; give how many replies it found."""
    assert rest.returncode == 0, rest.stderr
    counts = json.loads(rest.stdout)
    assert counts["asked"] + counts["reused"] == ROWS
    assert output.read_bytes() == whole
    return counts["reused"]


def check_limit(dataset: Path, whole: bytes, output: Path, limit: int) -> int:
    full = predict(dataset, output, limit)
    if full.returncode == 0:
        return ROWS
    stopped(full, output)
    reused = goes_on(predict(dataset, output), output, whole)
    assert not reused or re.search(r" (about|up to) [\d,]{5,} bytes", full.stderr), full.stderr
    return reused


def check_disk(dataset: Path, whole: bytes, disk: Callable[[int], Path], size: int) -> int:
    output = disk(size) / "p.parquet"
    full = predict(dataset, output)
    if full.returncode == 0:
        return ROWS
    stopped(full, output)
    disk(NEED)
    reused = goes_on(predict(dataset, output), output, whole)
    assert not reused or re.search(r" (about|up to) [\d,]{5,} bytes", full.stderr), full.stderr
    return reused


@pytest.mark.release
def test_files_that_may_not_grow_end_a_run_that_goes_on_later(dataset, whole, tmp_path):
    found = []
    for size in (1 << 10, 300_000, 1_100_000):
        (tmp_path / str(size)).mkdir()
        found.append(check_limit(dataset, whole, tmp_path / str(size) / "p.parquet", size))
    assert 0 == found[0] < found[1] < found[2] < ROWS


@pytest.mark.release
def test_a_full_disk_ends_a_run_that_goes_on_later(dataset, whole, disk):
    assert 0 < check_disk(dataset, whole, disk, 1 << 20) < ROWS


@pytest.mark.release
@pytest.mark.parametrize("size", [NEED * part // 60 for part in range(1, 31)])
def test_files_of_thirty_sizes(dataset, whole, tmp_path, size):
    check_limit(dataset, whole, tmp_path / "p.parquet", size)


@pytest.mark.release
@pytest.mark.parametrize("size", [NEED * part // 30 for part in range(1, 31)])
def test_disks_of_thirty_sizes(dataset, whole, disk, size):
    check_disk(dataset, whole, disk, size)
