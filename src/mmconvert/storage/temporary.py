"""Temporary folders and files that say whose they are, so that those of killed runs do not stay."""

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from mmconvert.storage.processes import SEES_PROCESSES, find_beginning, identify_machine

_WORDS = "mmconvert-"
_NAME = re.compile(rf"\.?{_WORDS}(?P<machine>[0-9a-f]{{12}})-(?P<pid>\d+)-(?P<began>\d*)-\w+")


def build_temporary_prefix() -> str:
    """Give the prefix for a temporary folder of this process; the first removes what killed processes left.

    A folder is left where its process may be alive: of this machine since its last start, and of this user. Windows,
    which does not say so, empties its folder for temporary files itself.

    Example:
        >>> with tempfile.TemporaryDirectory(prefix=build_temporary_prefix()) as folder:
        ...     bool(_NAME.fullmatch(Path(folder).name))
        True
    """
    _clear_once(Path(tempfile.gettempdir()), os.getpid())
    return _build_prefix(os.getpid())


def is_temporary(place: str) -> bool:
    """Tell whether a path leads into such a folder, which a process of mmconvert made for itself.

    Example:
        >>> with tempfile.TemporaryDirectory(prefix=build_temporary_prefix()) as folder:
        ...     is_temporary(f"{folder}/a/b.tsv"), is_temporary(tempfile.gettempdir()), is_temporary("b.tsv")
        (True, False, False)
    """
    if _WORDS not in place:
        return False
    above = f"{tempfile.gettempdir()}{os.sep}"
    return place.startswith(above) and _NAME.fullmatch(place[len(above) :].partition(os.sep)[0]) is not None


@contextlib.contextmanager
def open_temporary_file(folder: Path) -> Iterator[Path]:
    """Give a temporary file in a folder that exists, gone afterwards; what killed processes left there goes, too.

    A file is left where its process may be alive, as `build_temporary_prefix` says. It may be renamed meanwhile.

    Yields:
        The path of an empty file whose name begins with a dot; others may read it, as a file that is written again.
    """
    _clear_once(folder.resolve(), os.getpid())
    handle, name = tempfile.mkstemp(prefix=f".{_build_prefix(os.getpid())}", dir=folder)
    os.close(handle)
    temporary = Path(name)
    try:
        temporary.chmod(0o644)
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


@lru_cache
def _build_prefix(pid: int) -> str:
    return f"{_WORDS}{_build_machine_name()}-{pid}-{find_beginning(pid) or ''}-"


def _build_machine_name() -> str:
    return hashlib.sha256(identify_machine().encode()).hexdigest()[:12]


@lru_cache
def _clear_once(folder: Path, pid: int) -> None:
    # Once for a folder and process: it may hold as many files as are made in it.
    _clear(folder)


def _clear(folder: Path) -> None:
    if not SEES_PROCESSES:
        return
    machine = _build_machine_name()
    try:
        with os.scandir(folder) as entries:
            found = [(entry, name) for entry in entries if (name := _NAME.fullmatch(entry.name))]
    except OSError:
        return
    for entry, name in found:
        # Whoever else clears up here may be quicker, and the folder may be another's.
        with contextlib.suppress(OSError):
            if name["machine"] != machine or entry.is_symlink():
                continue
            ended = find_beginning(int(name["pid"])) != name["began"]
            if ended and entry.stat(follow_symlinks=False).st_uid == os.getuid():
                if entry.is_dir():
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    Path(entry.path).unlink(missing_ok=True)
