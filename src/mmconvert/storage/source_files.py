"""Files that are read stay as they are until what is made of them is published, or nothing is published.

A run looks at size, time and inode of each file when it is listed or first opened, and again behind the last
read: what did not change between the two looks was of one state whenever it was read. Objects of a store have their
ETag in that place; a dataset of the Hub is read at one commit, which never changes. File systems that number their
files again from time to time, and machines that number them differently, are known by the time of the inode's own
last change, which a file that takes another one's place does not share.

A file that was listed must also be the one that is opened. So a link that takes the place of a folder in between
gives nothing away.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from io import BufferedReader
from pathlib import Path
from typing import cast

from mmconvert.core.errors import Error
from mmconvert.core.rows import MOST_ROW_BYTES
from mmconvert.storage.hub_fs import HubPath
from mmconvert.storage.temporary import is_temporary

Stamp = int | str
"""What differs for a file or an object that has changed."""
Stamps = dict[str, dict[str, Stamp]]
"""Kind of source, and the place that its names are below -> name -> stamp: values that JSON holds, too."""

FILE = "file"
"""The kind of what lies on a disk."""
_NAMES_HANDLES = os.path.isdir("/dev/fd")
_GONE = -1
"""Stamp of a file that is not there."""
_BITS = 64
_MASK = (1 << _BITS) - 1

Look = Callable[[str, Iterable[str]], Iterable[tuple[str, Stamp]]]
"""(place, names below it) -> each name with its stamp of now."""

_looks: dict[str, Look] = {}


class ChangedError(Error):
    """A source changed while it was read: of what was made of it, nothing may be published."""


class Sources:
    """The files that a run has read, and how each was when it was first looked at.

    Attributes:
        stamps: Those that were read.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self.stamps: Stamps = {}
        self._listed: dict[str, Stamp] = {}

    def add(self, name: str, stamp: Stamp, kind: str = FILE) -> None:
        """Note a source that is read.

        Raises:
            ChangedError: It was another one when it was first looked at.
        """
        if kind == FILE and not name.startswith("/"):
            name = _make_absolute(name)
        read = self.stamps.get(kind)
        if read is None:
            read = self.stamps[kind] = {}
        known = read.setdefault(name, self._listed.get(name, stamp))
        if known != stamp and not _is_same(known, stamp):
            raise _build_error(name, kind)

    def expect(self, name: str, handle: int | None) -> None:
        """Note an open file of which nothing is read yet; whoever opens it by its name must find the same one.

        Args:
            name: Its path, as it will be opened.
            handle: The open file; None for one that nobody may find there.
        """
        self._listed.setdefault(_make_absolute(name), _GONE if handle is None else stamp_file(os.fstat(handle)))

    def select(self, names: Iterable[str]) -> Stamps:
        """Give what is known of some files, for another process that reads them."""
        read = self.stamps.get(FILE, {})
        known = ((name, read.get(name, self._listed.get(name))) for name in map(_make_absolute, names))
        return {FILE: {name: stamp for name, stamp in known if stamp is not None}}

    def join(self, stamps: Mapping[str, Mapping[str, Stamp]]) -> None:
        """Take over what another process has read.

        Raises:
            ChangedError: It has read another state of a source.
        """
        for kind, found in stamps.items():
            for name, stamp in found.items():
                self.add(name, stamp, kind)

    def require_unchanged(self) -> None:
        """Look at everything again.

        Raises:
            ChangedError: A source is no longer as it was.
        """
        for name, stamp in self.stamps.get(FILE, {}).items():
            try:
                found = stamp_file(os.stat(name))
            except OSError:
                found = _GONE
            if found != stamp and not _is_same(found, stamp):
                raise _build_error(name)
        for kind, known in self.stamps.items():
            look, _, place = kind.partition(" ")
            for name, now in _looks[look](place, known) if kind != FILE else ():
                if now != known[name]:
                    raise _build_error(name, kind)


def stamp_file(state: os.stat_result) -> int:
    """Give the stamp of a file: its content's size and time, its inode, and the inode's own time, in one number."""
    content = hash((state.st_size, state.st_mtime_ns)) & _MASK
    return (content << _BITS | state.st_ino & _MASK) << _BITS | state.st_ctime_ns & _MASK


def read_content_stamp(stamp: Stamp) -> Stamp:
    """Give the part of a stamp that is the same on every machine."""
    return stamp >> 2 * _BITS if isinstance(stamp, int) else stamp


def _is_same(one: Stamp, other: Stamp) -> bool:
    """Tell whether two stamps that differ are of one file: it may have another number or other rights by now."""
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    if read_content_stamp(one) != read_content_stamp(other):
        return False
    return (one >> _BITS) & _MASK == (other >> _BITS) & _MASK or one & _MASK == other & _MASK


_current: ContextVar[Sources | None] = ContextVar("sources", default=None)


def register_look(kind: str, look: Look) -> None:
    """Say how sources of another kind are looked at."""
    _looks[kind] = look


def get_sources() -> Sources | None:
    """Give what notes the files that are read here; None where nobody publishes anything of them."""
    return _current.get()


@contextmanager
def watch_sources() -> Iterator[Sources]:
    """Note what is read while the context lasts, which a run inside a run does for the outer one; also a decorator.

    Raises:
        ChangedError: Something else went wrong, and a source has changed: one that is cut looks damaged.
    """
    sources = _current.get()
    if sources is not None:
        yield sources
        return
    with watch_apart(Sources()) as sources:
        try:
            yield sources
        except ChangedError:
            raise
        except Error:
            sources.require_unchanged()
            raise


@contextmanager
def watch_apart(sources: Sources) -> Iterator[Sources]:
    """Note here what is read while the context lasts, and nowhere else."""
    before = _current.set(sources)
    try:
        yield sources
    finally:
        _current.reset(before)


def open_source(path: Path, buffering: int = -1) -> BufferedReader:
    """Open a file that a user has named or that lies in such a folder, for reading bytes.

    Raises:
        ChangedError: It is another one than the run has listed or opened before.
    """
    file = cast(BufferedReader, path.open("rb", buffering))
    if not isinstance(path, HubPath):
        try:
            _note(str(path), file.fileno())
        except Error:
            file.close()
            raise
    return file


def note_source(path: Path) -> None:
    """Note a file before the first of several readers opens it, be it in another thread.

    Raises:
        ChangedError: As `open_source`.
    """
    if _current.get() is not None and not isinstance(path, HubPath):
        open_source(path).close()


def read_source(path: Path) -> bytes:
    """Read a file that is taken apart as one value, as `open_source` opens it.

    Raises:
        Error: It is larger than one row may be.
    """
    with open_source(path) as file:
        data = file.read(MOST_ROW_BYTES + 1)
    if len(data) > MOST_ROW_BYTES:
        raise Error(f"{path}: is larger than {MOST_ROW_BYTES >> 20} MiB, and it is read as one value. Split it.")
    return data


def name_open_file(file: BufferedReader, path: Path) -> str | Path:
    """Give a name by which a library opens a file that is open, whatever stands at its path meanwhile.

    Args:
        file: The open file.
        path: Its path, for systems that have no such name.
    """
    return f"/dev/fd/{file.fileno()}" if _NAMES_HANDLES else path


def note_read_file(place: str, before: os.stat_result, after: os.stat_result) -> None:
    """Note a file that was read at once, by what its handle said before and behind it.

    Raises:
        ChangedError: It changed in between, or is another one than the run has read before.
    """
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise _build_error(place)
    _note(place, before)


def _note(name: str, handle: int | os.stat_result) -> None:
    sources = _current.get()
    # Copies of streams and of objects, and tables that a framework's rule wants as files, come and go.
    if sources is not None and not is_temporary(name):
        sources.add(name, stamp_file(os.fstat(handle) if isinstance(handle, int) else handle))


def require_unchanged() -> None:
    """Refuse to publish anything of sources that are no longer as they were.

    Raises:
        ChangedError: One has changed since it was first looked at.
    """
    sources = _current.get()
    if sources is not None:
        sources.require_unchanged()


def _make_absolute(name: str) -> str:
    """Name a file as a process in any working folder finds it: others may join in, or go on with a run."""
    return name if name.startswith("/") or os.path.isabs(name) else os.path.abspath(name)


def _build_error(name: str, kind: str = FILE) -> ChangedError:
    place = kind.partition(" ")[2]
    return ChangedError(f"{'/'.join(filter(None, (place, name)))}: changed while it was read. Run again.")
