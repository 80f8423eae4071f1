"""Object stores and other file systems, by URL: s3://, gs://, abfs://, whatever fsspec knows.

What is read is fetched whole to this machine first (of the Hub's datasets, what is asked for); what is written
is sent when it is whole here: shards are hashed, checked and renamed, which no object store does. Credentials
are those of the store's own client (environment, configuration files).
"""

import atexit
import functools
import hashlib
import re
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, cast
from urllib.parse import unquote, urlsplit

from mmconvert.core.errors import Error, UsageError, take_first_line
from mmconvert.storage.hub_fs import find_on_hub, is_at_commit
from mmconvert.storage.source_files import Sources, get_sources, register_look
from mmconvert.storage.temporary import build_temporary_prefix

EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs", "abfs": "azure", "az": "azure"}
"""Extras that bring the clients of stores, by the scheme of their URLs."""

_OBJECT = "object"
_FEW = 20
_COPIED = 1 << 20
"""Bytes that are copied at once."""
_ETAGS = ("ETag", "etag", "blob_id")
_TIMES = ("generation", "LastModified", "last_modified", "updated", "mtime", "created")
_URL = re.compile(r"(?!https?:|file:)[a-z][a-z0-9+.-]+://.", re.IGNORECASE)


def is_url(name: str) -> bool:
    """Tell the URL of a file system from a path and from a web address.

    Example:
        >>> is_url("s3://bucket/data.tsv"), is_url("https://example.org/data.tsv"), is_url("data.tsv")
        (True, False, False)

    Raises:
        UsageError: It is the URL of a file of this machine, which as a path would begin with a folder `file:`.
    """
    if name.lower().startswith("file:/"):
        raise UsageError(f"{name}: name the path itself, {unquote(urlsplit(name).path)}")
    return _URL.match(name) is not None


def fetch(url: str) -> Path:
    """Copy a file or folder to this machine; the copy goes away with the process.

    Raises:
        UsageError: Nothing stands there, or the package for such URLs is missing.
        Error: The store cannot be reached, or refuses.
        ChangedError: What stands there changed while it was copied.
    """
    with open_store(url) as (store, place):
        if not store.exists(place):
            raise UsageError(f"{url}: no such file or folder. Check bucket, path and credentials.")
        folder = Path(tempfile.mkdtemp(prefix=build_temporary_prefix()))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        target = folder / place.rstrip("/").rpartition("/")[2]
        before = _stamp_whole(store, place)
        if store.isdir(place):
            store.get(place.rstrip("/") + "/", f"{target}/", recursive=True)
        else:
            store.get_file(place, str(target))
        # What comes in pieces, or object by object, may be of two states.
        sources = get_sources() or Sources()
        sources.add("", before, f"{_OBJECT} {url}")
        sources.add("", _stamp_whole(store, place), f"{_OBJECT} {url}")
    return target


def _stamp_whole(store: Any, place: str) -> str:
    """Give the stamp of an object, or of all objects of a folder."""
    store.invalidate_cache()
    found = store.find(place, detail=True) or {place: store.info(place)}
    listed = sorted(f"{name}\n{_stamp_object(facts)}" for name, facts in found.items())
    return hashlib.sha256("\n".join(listed).encode(errors="surrogateescape")).hexdigest()


def _stamp_object(facts: Mapping[str, Any]) -> str:
    """Give what differs for an object that was written again: its ETag, or size and time where a store has none."""
    etag = next((facts[name] for name in _ETAGS if facts.get(name)), None)
    times = (facts[name] for name in _TIMES if facts.get(name) is not None)
    return str(etag) if etag else " ".join(map(str, (facts.get("size"), *times)))


def _look_again(url: str, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Give the stamps of now: of what lies below a folder, or "" for all that the URL names."""
    with open_store(url) as (store, place):
        store.invalidate_cache()
        stamps = _Stamps(store, place.rstrip("/"))
        for name in names:
            yield name, (stamps.read(name) if name else _stamp_whole(store, place))


class _Stamps:
    """Stamps of objects: of a few they are asked one by one, of more their folder is listed."""

    def __init__(self, store: Any, root: str) -> None:
        self._store, self._root = store, root
        self._asked: Counter[str] = Counter()
        self._listed: dict[str, Mapping[str, str]] = {}

    def read(self, name: str) -> str:
        """Give the stamp of an object below the root; "" where there is none."""
        file = f"{self._root}/{name}"
        folder = file.rpartition("/")[0]
        self._asked[folder] += 1
        if self._asked[folder] > _FEW and folder not in self._listed:
            self._listed[folder] = self._list(folder)
        if (stamp := self._listed.get(folder, {}).get(file)) is not None:
            return stamp
        try:
            return _stamp_object(self._store.info(file))
        except (FileNotFoundError, IsADirectoryError, PermissionError):
            return ""

    def _list(self, folder: str) -> Mapping[str, str]:
        try:
            return {facts["name"]: _stamp_object(facts) for facts in self._store.ls(folder, detail=True)}
        except (OSError, NotImplementedError):  # not every one who may read may list
            return {}


register_look(_OBJECT, _look_again)


def find_local(name: str | Path) -> Path:
    """Give the place to read a path, a URL or a dataset of the Hub from; what a store has is fetched first.

    Raises:
        UsageError: As `fetch` and `find_on_hub`.
        Error: As `fetch` and `find_on_hub`.
    """
    return find_on_hub(name) or (fetch(str(name)) if is_url(str(name)) else Path(name))


def exists(url: str) -> bool:
    """Tell whether a file or folder stands at a URL.

    Raises:
        UsageError: As `fetch`.
        Error: As `fetch`.
    """
    with open_store(url) as (store, place):
        return bool(store.exists(place))


def read_file_name(url: str) -> str:
    """Give the last word of a URL.

    Example:
        >>> read_file_name("s3://bucket/runs/answers.parquet")
        'answers.parquet'
    """
    return url.rstrip("/").rpartition("/")[2]


class StoreCopy:
    """A file of a store on this machine, which goes away when nobody holds this.

    Attributes:
        file: Its bytes.
        lock: Held by who seeks in it.
    """

    def __init__(self) -> None:
        """Begin with no bytes."""
        self.file = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115  (it lives as long as this)
        self.lock = Lock()
        weakref.finalize(self, self.file.close)


class StoreFolder:
    """A folder of a store of which single files are read, when they are wanted."""

    def __init__(self, url: str) -> None:
        """Name it; nobody is asked yet."""
        self.url = url.rstrip("/")
        self._stamps: _Stamps | None = None
        # The rows of a conversation show the same images one after the other.
        self.read = functools.lru_cache(4)(self._read)
        # The rows about one video, too.
        self.copy = functools.lru_cache(1)(self._copy)

    def _read(self, name: str, limit: int) -> bytes | None:
        """Read a file.

        Args:
            name: Path below the folder, without `..`.
            limit: Most bytes to read.

        Returns:
            The beginning of the file; None where there is none that may be read.

        Raises:
            UsageError: As `fetch`.
            Error: As `fetch`.
        """
        # The folder is opened, not the file: a name is no URL, whatever stands in it.
        with open_store(self.url) as (store, place):
            file = f"{place.rstrip('/')}/{name}"
            self._note(store, place.rstrip("/"), name)
            try:
                return bytes(store.cat_file(file, start=0, end=limit))
            except (FileNotFoundError, IsADirectoryError, PermissionError):
                return None
            except OSError:
                # A store that has no beginning of an empty file says so.
                if store.size(file) != 0:
                    raise
                return b""

    def _copy(self, name: str, limit: int) -> StoreCopy | None:
        """Copy a file that is too large to be held.

        Args:
            name: Path below the folder, without `..`.
            limit: Most bytes; one more is copied of a larger file.

        Returns:
            The copy; None where there is none that may be read.

        Raises:
            UsageError: As `fetch`.
            Error: As `fetch`.
        """
        with open_store(self.url) as (store, place):
            self._note(store, place.rstrip("/"), name)
            try:
                with store.open(f"{place.rstrip('/')}/{name}", "rb") as source:
                    copy, left = StoreCopy(), limit + 1
                    while left and (block := source.read(min(left, _COPIED))):
                        copy.file.write(block)
                        left -= len(block)
            except (FileNotFoundError, IsADirectoryError, PermissionError):
                return None
        copy.file.flush()
        return copy

    def _note(self, store: Any, root: str, name: str) -> None:
        sources = get_sources()
        if sources is None or is_at_commit(self.url):
            return
        if self._stamps is None:
            store.invalidate_cache()
            self._stamps = _Stamps(store, root)
        if stamp := self._stamps.read(name):
            sources.add(name, stamp, f"{_OBJECT} {self.url}")


@contextmanager
def open_store(url: str) -> Iterator[tuple[Any, str]]:
    """Open the file system of a URL, and say in one sentence what goes wrong with it."""
    # Imported here: it is slow to load, and most files lie on a disk.
    from fsspec.core import url_to_fs

    try:
        yield url_to_fs(url)
    except Error:
        raise
    except ImportError as error:
        extra = EXTRAS.get(urlsplit(url).scheme.lower())
        install = f'Install it: pip install "mmconvert[{extra}]"' if extra else f"{take_first_line(error)}."
        raise UsageError(f"{url}: the package for such URLs is missing. {install}") from None
    except ValueError as error:
        raise UsageError(f"{url}: cannot be opened ({take_first_line(error)}).") from None
    except Exception as error:  # clients of many stores: each has errors of its own
        raise Error(f"{url}: the store failed ({type(error).__name__}: {take_first_line(error)}). Run again.") from None
