"""Temporary folders of the system's that say whose they are, so that those of killed runs do not stay."""

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
from pathlib import Path

from mmconvert.storage.leases import find_beginning, identify_machine

_NAME = re.compile(r"mmconvert-(?P<machine>[0-9a-f]{12})-(?P<pid>\d+)-(?P<began>\d*)-\w+")


def build_temporary_prefix() -> str:
    """Give the prefix for a temporary folder of this process; what killed processes left is removed first.

    A folder is left where its process may be alive: of this machine since its last start, and of this user.

    Example:
        >>> with tempfile.TemporaryDirectory(prefix=build_temporary_prefix()) as folder:
        ...     bool(_NAME.fullmatch(Path(folder).name))
        True
    """
    machine = hashlib.sha256(identify_machine().encode()).hexdigest()[:12]
    with contextlib.suppress(OSError):
        _clear(Path(tempfile.gettempdir()), machine)
    return f"mmconvert-{machine}-{os.getpid()}-{find_beginning(os.getpid()) or ''}-"


def is_temporary(place: str) -> bool:
    """Tell whether a path leads into such a folder: what lies there, a process of ours has made for itself.

    Example:
        >>> with tempfile.TemporaryDirectory(prefix=build_temporary_prefix()) as folder:
        ...     is_temporary(f"{folder}/a/b.tsv"), is_temporary(tempfile.gettempdir()), is_temporary("b.tsv")
        (True, False, False)
    """
    above = f"{tempfile.gettempdir()}{os.sep}"
    return place.startswith(above) and _NAME.fullmatch(place[len(above) :].partition(os.sep)[0]) is not None


def _clear(folder: Path, machine: str) -> None:
    with os.scandir(folder) as entries:
        found = [(entry, name) for entry in entries if (name := _NAME.fullmatch(entry.name))]
    for entry, name in found:
        # Whoever else clears up here may be quicker.
        with contextlib.suppress(FileNotFoundError):
            if name["machine"] != machine or not entry.is_dir(follow_symlinks=False):
                continue
            ended = find_beginning(int(name["pid"])) != name["began"]
            if ended and entry.stat(follow_symlinks=False).st_uid == os.getuid():
                shutil.rmtree(entry.path, ignore_errors=True)
