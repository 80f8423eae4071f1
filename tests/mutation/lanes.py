"""Copies of the checkout in which mutants run, so that neither the checkout nor another mutant is touched."""

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import msgspec

PASSED, FAILED, TIMED_OUT = "passed", "failed", "timed out"
MEMORY = 8 << 30
"""Bytes that a process of a mutant may have: one that never ends may fill the machine before its time is over."""
ALONE = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
CLOSE = 'mount --bind "$0" "$0" && mount -o remount,ro,bind / && cd "$0" && "$@"; exit $?'
"""Makes all but the lane read-only: a mutant may remove another folder than the one it should."""
PLUGINS_OFF = ["-p", "no:cacheprovider", "-p", "no:cov", "-p", "no:xdist"]


class Ran(msgspec.Struct, frozen=True):
    """What came of a run of tests: PASSED, FAILED or TIMED_OUT, its seconds, and the end of its output."""

    outcome: str
    seconds: float
    output: str


class Lane:
    """A copy of the checkout.

    Attributes:
        tree: The copy.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = folder
        self.tree = folder / "tree"

    def copy(self) -> None:
        """Copy what git tracks or would track, and link ../shared where there is one."""
        shutil.rmtree(self._folder, ignore_errors=True)
        (self._folder / "tmp").mkdir(parents=True)
        for name in list_tracked(self._root):
            place = self.tree / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(self._root / name, place, follow_symlinks=False)
        if (self._root.parent / "shared").is_dir():
            (self._folder / "shared").symlink_to((self._root.parent / "shared").resolve())

    def run_mutant(self, file: str, code: str, tests: Sequence[str], limit: float) -> Ran:
        """Run tests with another text of a file until one fails; the file is as before afterwards.

        Args:
            file: Path in the repository.
            code: Its text.
            tests: Node ids of pytest.
            limit: Seconds after which the run is ended.
        """
        place = self.tree / file
        original = place.read_bytes()
        listed = self._folder / "tests.txt"
        listed.write_text("\n".join(tests), "utf-8")
        try:
            _write_source(place, code.encode())
            return self.run_pytest([*PLUGINS_OFF, "-x", f"@{listed}"], limit)
        finally:
            _write_source(place, original)

    def run_pytest(self, arguments: Sequence[str], limit: float) -> Ran:
        """Run pytest in the copy, on its sources."""
        command = [sys.executable, "-m", "pytest", "-q", *arguments]
        if self._is_alone:
            command = [
                *ALONE,
                "sh",
                "-c",
                CLOSE,
                str(self._folder),
                "sh",
                "-c",
                'cd tree && "$@"; exit $?',
                "sh",
                *command,
            ]
        temporary = self._folder / "tmp"
        with contextlib.suppress(OSError):
            shutil.rmtree(temporary)
        temporary.mkdir(exist_ok=True)
        paths = os.pathsep.join([str(self.tree / "src"), str(self.tree / "tests")])
        environment = {**os.environ, "PYTHONPATH": paths, "TMPDIR": str(temporary), "HOME": str(temporary)}
        log = self._folder / "output.txt"
        started = time.monotonic()
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, cwd=self.tree, env=environment, stdout=output, stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=_limit_memory,
            )  # fmt: skip
            try:
                outcome = PASSED if process.wait(limit) == 0 else FAILED
            except subprocess.TimeoutExpired:
                outcome = TIMED_OUT
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return Ran(outcome, time.monotonic() - started, log.read_bytes()[-2000:].decode(errors="replace"))

    @cached_property
    def _is_alone(self) -> bool:
        """Tell whether Linux lets us hide the other processes and folders from a mutant: as root it does."""
        check = [*ALONE, "sh", "-c", CLOSE, str(self._folder), "true"]
        return shutil.which("unshare") is not None and not subprocess.run(check, capture_output=True).returncode


def list_tracked(root: Path) -> list[str]:
    """List the files of the checkout without those that git ignores."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout.decode()
    return [name for name in listed.split("\0") if name and os.path.lexists(root / name)]


def _write_source(place: Path, data: bytes) -> None:
    # Python takes compiled code for current by the second and the size of its source, which a mutant may share.
    for compiled in (place.parent / "__pycache__").glob(f"{place.stem}.*.pyc"):
        compiled.unlink()
    place.write_bytes(data)


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
