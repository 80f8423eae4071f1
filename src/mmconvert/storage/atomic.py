"""Temporary names beside a place, so that what appears there is whole, and what killed runs left under them."""

import contextlib
import errno
import os
import re
import shutil
import socket
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from mmconvert.core.errors import UsageError, build_write_error, is_no_room
from mmconvert.storage.processes import SEES_PROCESSES, find_beginning

NO_LINKS = frozenset({errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL, errno.EMLINK})
"""What a file system says that gives a file no second name; EINVAL is FAT on Windows."""

_DAY = 86_400.0
"""Seconds after which what nobody has touched is nobody's, where the system does not say which processes there are."""

_LEFTOVER = re.compile(r"(\d+)(?:\.part-\d+)?\.(new|old)")
_STORE = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)
"""How a URL begins that a `Path` was made of."""


def build_temporary_path(place: Path, kind: str = "new") -> Path:
    """Name a temporary file or folder beside a place; no other live process uses this name.

    Args:
        place: What shall appear; links in it are resolved.
        kind: `new` for what is being made, `old` for what stood there and is moved aside.

    Returns:
        `.<name>.<host>.<pid>.<kind>`, with the suffix of the place again behind it.
    """
    place = place.resolve()
    return place.with_name(f".{place.name}.{socket.gethostname()}.{os.getpid()}.{kind}{place.suffix}")


def clear_leftovers(place: Path) -> None:
    """Remove what killed runs of this machine left beside a place, and put back what they had moved aside."""
    place = place.resolve()
    head, tail = f".{place.name}.{socket.gethostname()}.", place.suffix
    if not place.parent.is_dir():
        return
    for entry in sorted(name for name in os.listdir(place.parent) if name.startswith(head) and name.endswith(tail)):
        found = _LEFTOVER.fullmatch(entry, len(head), len(entry) - len(tail))
        leftover = place.parent / entry
        if found is None or _is_in_use(leftover, int(found[1])):
            continue
        if found[2] == "old" and (not place.exists() or (place.is_dir() and not os.listdir(place))):
            _remove_empty_folder(place)
            leftover.rename(place)
        elif leftover.is_dir() and not leftover.is_symlink():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)


def _is_in_use(leftover: Path, pid: int) -> bool:
    # A process of our own number has not begun yet; in a container that starts again it often has the same one.
    if pid == os.getpid():
        return False
    if SEES_PROCESSES:
        return find_beginning(pid) is not None
    return time.time() - leftover.lstat().st_mtime < _DAY


def _remove_empty_folder(place: Path) -> None:
    """Make room for a folder: Windows puts none in the place of another, even of an empty one."""
    if place.is_dir():
        place.rmdir()


def require_folder(place: Path) -> None:
    """Refuse a place whose folder does not exist.

    Raises:
        UsageError: It does not, or the place is the URL of a store, which this is not written to.

    Example:
        >>> require_folder(Path("s3://bucket/p.html"))
        Traceback (most recent call last):
        mmconvert.core.errors.UsageError: s3://bucket/p.html: this is written to local files only. Copy it there
        afterwards.
    """
    if place.resolve().parent.is_dir():
        return
    if _STORE.match(str(place)):
        url = str(place).replace(":/", "://", 1)
        raise UsageError(f"{url}: this is written to local files only. Copy it there afterwards.")
    raise UsageError(f"{place}: its folder does not exist. Name a place in a folder that does.")


def require_file(place: str | Path) -> None:
    """Refuse a place where a device or a pipe stands: a file that appears there would take its place.

    Raises:
        UsageError: It is one.

    Example:
        >>> require_file("/dev/null")
        Traceback (most recent call last):
        mmconvert.core.errors.UsageError: /dev/null: is a device or a pipe, which a file would replace. Name a file.
    """
    if os.path.exists(place) and not os.path.isfile(place) and not os.path.isdir(place):
        raise UsageError(f"{place}: is a device or a pipe, which a file would replace. Name a file.")


def require_apart(outputs: Iterable[str | Path | None], inputs: Iterable[str | Path]) -> None:
    """Refuse to write a file that is read as well, two into one place, or one over a device.

    Args:
        outputs: Files to write; None for one that nobody wants.
        inputs: What is read.

    Raises:
        UsageError: Two of them are one file, or as `require_file`.

    Example:
        >>> require_apart(["report.json", "./a.parquet"], ["a.parquet"])
        Traceback (most recent call last):
        mmconvert.core.errors.UsageError: ./a.parquet: is read as well, and would be replaced. Name another file.
    """
    read = {os.path.realpath(str(path)) for path in inputs}
    written = set()
    for path in (path for path in outputs if path is not None):
        require_file(path)
        place = os.path.realpath(path)
        if place in read:
            raise UsageError(f"{path}: is read as well, and would be replaced. Name another file.")
        if place in written:
            raise UsageError(f"{path}: is named for two files. Name another one.")
        written.add(place)


@contextlib.contextmanager
def open_published_file(place: Path) -> Iterator[Path]:
    """Make a file that is written atomically.

    Args:
        place: The file that shall appear, replacing one that stands there.

    Yields:
        The temporary path to write to; it has the suffix of the place.

    Raises:
        UsageError: As `require_file`.
        Error: The disk has no room for it.
    """
    require_file(place)
    clear_leftovers(place)
    new = build_temporary_path(place)
    try:
        with _explain_full_disk(place):
            yield new
            sync_file(new)
            new.replace(place.resolve())
    finally:
        new.unlink(missing_ok=True)
    sync_folder(new.parent)


@contextlib.contextmanager
def open_published_folder(place: Path) -> Iterator[Path]:
    """Make a folder that is written atomically.

    Args:
        place: The folder that shall appear; an empty one that stands there is replaced.

    Yields:
        The temporary folder to fill.

    Raises:
        UsageError: Something stands there: files of an earlier run would mix with the new ones.
        Error: The disk has no room for it.
    """
    clear_leftovers(place)
    if place.exists() and not (place.is_dir() and not os.listdir(place)):
        raise UsageError(f"{place}: is not an empty folder. Name a new one.")
    new = build_temporary_path(place)
    try:
        with _explain_full_disk(place):
            new.mkdir()
            yield new
            sync_tree(new)
            _remove_empty_folder(place.resolve())
            new.replace(place.resolve())
    finally:
        shutil.rmtree(new, ignore_errors=True)
    sync_folder(new.parent)


@contextlib.contextmanager
def _explain_full_disk(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if not is_no_room(error):
            raise
        raise build_write_error(place, error) from error


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file a second name; copy it where the disk knows no hard links."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        shutil.copyfile(source, target)
        sync_file(target)


def write_synced(path: Path, data: bytes) -> None:
    """Write a file and force it to the disk."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Force a folder's entries to the disk, so that a rename survives a power cut; Windows opens no folder for this."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(path: Path) -> None:
    """Force a folder and all that is below it to the disk."""
    for folder, _, files in os.walk(path, topdown=False):
        for file in files:
            sync_file(Path(folder, file))
        sync_folder(Path(folder))


def sync_file(path: Path) -> None:
    """Force the bytes of a file that is written to the disk."""
    # Windows asks for the right to write.
    with path.open("rb+") as file:
        os.fsync(file.fileno())
