"""METEOR 1.5, the Java program inside pycocoevalcap, as a child process that aligns captions.

It is started at the first caption, reads some sixty megabytes of paraphrases in a few seconds, and then
waits for more until this process ends.
"""

import atexit
import contextlib
import importlib.util
import re
import shutil
import subprocess
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from mmconvert.core.errors import Error, show

NUMBERS = 23
"""How many numbers the program says about one caption."""

_SEPARATOR = "|||"
_BREAK = re.compile(r"[\r\n]+")


def describe_missing() -> str | None:
    """Say what METEOR needs and does not find here; None when all is there."""
    if shutil.which("java") is None:
        return "METEOR is not computed: there is no Java. Install a Java runtime."
    if _find_jar() is None:
        return 'METEOR is not computed: its program is not there. Install it: pip install "mmconvert[captions]"'
    return None


def _find_jar() -> Path | None:
    # Found, not imported: the package's own modules talk on stdout.
    found = importlib.util.find_spec("pycocoevalcap")
    places = [] if found is None or found.submodule_search_locations is None else found.submodule_search_locations
    return next((jar for place in places if (jar := Path(place, "meteor", "meteor-1.5.jar")).is_file()), None)


def align_caption(prediction: str, references: Sequence[str]) -> list[float]:
    """Align a caption with the one of its references that it is nearest to.

    Line breaks are blanks here; the frameworks' program waits forever on them.

    Args:
        prediction: The caption.
        references: One or more.

    Returns:
        `NUMBERS` counts, in the program's order, see `mmscore.metrics.coco_meteor`.

    Raises:
        Error: Java or the program is not there, or it broke off.

    Parity: salaniz/pycocoevalcap 1.2 meteor/meteor.py:Meteor, which takes `|||` and double blanks out of the
    prediction alone.
    """
    if (reason := describe_missing()) is not None:
        raise Error(reason)
    said = prediction.replace(_SEPARATOR, "").replace("  ", " ")
    line = _BREAK.sub(" ", f" {_SEPARATOR} ".join(("SCORE", *references, said)))
    return _start_program().query(line)


class _Program:
    """The running program; one question at a time."""

    def __init__(self, jar: Path) -> None:
        command = ["java", "-Dfile.encoding=UTF-8", "-Xmx2G", "-jar", str(jar), "-", "-", "-stdio", "-l", "en", "-norm"]
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere)
        self._one_at_a_time = threading.Lock()
        atexit.register(self._end)

    def query(self, line: str) -> list[float]:
        with self._one_at_a_time:
            said = self._read_line(line)
        try:
            numbers = [float(number) for number in said.split()]
        except ValueError:
            numbers = []
        if len(numbers) != NUMBERS:
            raise Error(f"METEOR: the program broke off or misread a caption {show(line)}. Score without Java.")
        return numbers

    def _read_line(self, line: str) -> str:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            return ""
        with contextlib.suppress(OSError):
            stdin.write(line.encode(errors="replace") + b"\n")
            stdin.flush()
            return stdout.readline().decode(errors="replace")
        return ""

    def _end(self) -> None:
        try:
            self._process.communicate(timeout=5)
        except (OSError, ValueError, subprocess.TimeoutExpired):
            self._process.kill()


@cache
def _start_program() -> _Program:
    jar = _find_jar()
    if jar is None:
        raise Error(str(describe_missing()))
    return _Program(jar)
